/*
 * The texts of a class: of the learner's page and of the teacher's.
 */
import { inBoth } from '../shared/i18n.js';

export const classMessages = inBoth({
  'class.title': ['Your seat in the class', '你在课堂里的座位'],
  'class.link': ['Class', '课堂'],
  'class.intro': [
    'Each seat has a sale of its own and its own turn in the lab: nothing you do disturbs the others, and nobody sees it but the teacher.',
    '每个座位都有自己的一场秒杀，在实验室里也有自己的机会：你做什么都不会打扰别人，除了老师谁也看不见。',
  ],
  'class.name': ['What the teacher may call you', '老师怎么称呼你'],
  'class.sit': ['Sit down', '入座'],
  'class.seat': ['Seat {seat}: {name}', '{seat} 号座位：{name}'],
  'class.shop': ['Your sale: buy here', '你的秒杀：在这里抢'],
  'class.lab': ['The lock lab: read, guess, play', '锁实验室：读，猜，播放'],
  'class.ladder': ['You are the scheduler: break it in as few moves as you can', '线程由你调度：用最少的步数打破它'],
  'class.again': ['Put up a new sale', '重新上架一场'],
  'class.guard': ['sold under', '用哪个守卫来卖'],
  'class.renewed': ['Your new sale is open: {sale}.', '新的一场已经开始：{sale}。'],
  'class.away': [
    'The service does not answer. Nothing was changed; try again.',
    '服务没有应答。什么都没有改变，请再试。',
  ],
  'room.title': ['Classroom', '教室'],
  'room.intro': [
    'Learners sit down at /class on the buyers’ port. Seats are kept until you free them, or the service ends.',
    '学生在买家端口的 /class 入座。座位一直保留，直到你让出它，或者服务结束。',
  ],
  'room.dashboard': ['Dashboard', '运营页'],
  'room.token': ['Admin token', '管理员令牌'],
  'room.enter': ['Open', '打开'],
  'room.wrong': ['The service does not take this token.', '服务不接受这个令牌。'],
  'room.count': ['{taken} of {all} seats are taken', '{all} 个座位，已坐 {taken} 个'],
  'room.seat': ['seat', '座位'],
  'room.name': ['name', '名字'],
  'room.where': ['played last', '最近播放'],
  'room.plays': ['plays', '次数'],
  'room.broken': ['broke a promise', '打破承诺'],
  'room.sale': ['sale', '秒杀'],
  'room.left': ['{left} of {stock} left, {guard}', '剩 {left}/{stock}，{guard}'],
  'room.seen': ['seen', '最近出现'],
  'room.ago': ['{seconds} s ago', '{seconds} 秒前'],
  'room.free': ['Free the seat', '让出座位'],
});
