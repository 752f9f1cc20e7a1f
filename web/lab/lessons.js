/*
 * Two plans for teachers and a glossary, a page each, to read or to print: /lab?lesson=45, 90, words. Plays are
 * named by their address; a text is [English, 中文].
 */
import { h } from '../shared/dom.js';

/* Minutes, addresses, question, answer, and what to draw. */
const PLANS = {
  45: [
    [
      8,
      ['run=lost-update'],
      ['Both read 1. Who made the mistake?', '两个人都读到 1，谁做错了？'],
      [
        'Nobody: reading, deciding and writing are three steps, and anything fits between.',
        '谁也没错：读、判断、写是三步，中间什么都可能发生。',
      ],
      [
        'Two columns A and B; four lines: A reads 1, B reads 1, A writes 0, B writes 0.',
        '两列 A、B，四行：A 读 1，B 读 1，A 写 0，B 写 0。',
      ],
    ],
    [
      6,
      ['run=none&schedule='],
      ['Oversell it yourself. How few moves does it take?', '自己把它卖超，最少几步？'],
      ['Four, ABAB: both look before one writes.', '四步，ABAB：都先看，才有人写。'],
      [
        'The string ABAB below the columns; then one that is harmless, AABB.',
        '在两列下面写 ABAB；再写一个无害的：AABB。',
      ],
    ],
    [
      6,
      ['run=thread-lock'],
      ['Why is a mutex of the process not enough?', '进程里的互斥锁为什么不够？'],
      [
        'Two processes have two of them; the lock must be where both look.',
        '两个进程有两把；锁要放在双方都看得见的地方。',
      ],
      [
        'Two boxes (processes), a lock in each; a third box, Redis, with none.',
        '两个方框（进程）各有一把锁；第三个方框 Redis 里没有。',
      ],
    ],
    [
      6,
      ['run=setnx-crash'],
      ['The holder dies. When can the next one buy?', '持有者死了，下一个什么时候能买？'],
      ['Never: this lock has no end. So it needs a lease.', '永远不能：锁没有期限，所以要有租约。'],
      [
        'A bar that never ends (∞); below it one that ends after 30 s.',
        '一条没有尽头的线（∞），下面一条 30 秒后结束。',
      ],
    ],
    [
      6,
      ['run=setnx-expire'],
      ['SETNX, then EXPIRE: where is the gap?', '先 SETNX 再 EXPIRE，缝隙在哪里？'],
      [
        'Between the two. SET key token NX PX ms is one command.',
        '两条命令之间。SET key token NX PX 毫秒 是一条命令。',
      ],
      [
        'Both commands with a lightning between them; below, the one that does both.',
        '两条命令，中间一道闪电；下面写合二为一的那条。',
      ],
    ],
    [
      8,
      ['run=overslept-delete', 'run=get-del'],
      [
        'A overslept and deletes. Whose lock is it? Is looking first enough?',
        '睡过头的 A 删掉的是谁的锁？先看一眼再删够不够？',
      ],
      [
        'The next holder’s. Not enough: looking and deleting are two steps again.',
        '下一个持有者的。不够：看和删又是两步。',
      ],
      [
        'A’s lease as a wedge that runs out; B’s begins there; A’s DEL hits B’s.',
        'A 的租约像楔子一样用完，B 的从那里开始，A 的 DEL 打在 B 的上面。',
      ],
    ],
    [
      5,
      ['run=atomic-release'],
      ['Read the Lua: which line cures both?', '读 Lua：哪一行同时治好两者？'],
      ['The one that compares the token, in the same script as the DEL.', '比对令牌的那一行，和 DEL 在同一个脚本里。'],
      ['The line, with ~= ARGV[1] underlined.', '写下那一行，给 ~= ARGV[1] 画线。'],
    ],
  ],
  90: [
    [
      15,
      ['run=setnx-expire', 'run=overslept-delete', 'run=atomic-release'],
      ['What do you remember of leases and tokens?', '还记得租约和令牌吗？'],
      [
        'A lease ends by itself; a token says whose lock it is; compare and delete in one step.',
        '租约自己会到期；令牌说明锁是谁的；比较和删除要在一步里。',
      ],
      ['The wedge of a lease, A#1 written on it.', '租约的楔子，上面写 A#1。'],
    ],
    [
      10,
      ['run=stale-write&beside=checked-write'],
      ['The late release was refused, rightly. Is all well?', '迟到的释放被正确地拒绝了，就没事了吗？'],
      [
        'No: it had written before. The write must look at the lock in the same step.',
        '不：它之前已经写了。写入要在同一步里检查锁。',
      ],
      ['Look, then a pause, then write: the pause is where the lease ends.', '看锁，停顿，写入：租约就在停顿里到期。'],
    ],
    [
      8,
      ['run=watchdog', 'run=paused-process'],
      ['A watchdog renews. Whom does it save?', '看门狗会续约，它能救谁？'],
      [
        'Who is slow. Not whom the machine stopped: its watchdog stands still with it.',
        '救得了慢的，救不了被暂停的：看门狗也停了。',
      ],
      ['The wedge, lengthened three times; then a wall across both lines.', '楔子延长三次；然后一堵墙同时挡住两条线。'],
    ],
    [
      7,
      ['run=fencing-token'],
      ['Who checks the number?', '谁检查这个编号？'],
      ['The resource that is written to. A lock alone cannot.', '被写入的资源；光靠锁不行。'],
      [
        'Lock, client, resource in a triangle; the number goes all the way round.',
        '锁、客户端、资源构成三角形，编号走完一圈。',
      ],
    ],
    [
      10,
      ['run=failover', 'run=synced-lock'],
      [
        'The replica took over: which promise breaks, and what does the cure cost?',
        '副本接管之后，哪个承诺被打破，治好它的代价是什么？',
      ],
      [
        'Two hold the lock. Replication is late by nature; waiting for it costs a round trip.',
        '两个人同时持有锁。复制总是晚的；等它要多一个来回。',
      ],
      ['Primary, replica, an arrow that arrives after the crash.', '主节点、副本，一支在宕机之后才到的箭头。'],
    ],
    [
      10,
      ['run=redlock', 'run=empty-restart'],
      ['Three servers vote. What may none of them do?', '三台服务器投票，它们都不能做什么？'],
      ['Forget a vote. See delayed-restart.', '忘记自己投过的票。再看 delayed-restart。'],
      ['Three circles, two majorities that share one.', '三个圆，两个多数共用其中一个。'],
    ],
    [
      8,
      ['run=lost-reply', 'run=late-pipeline-unmarked'],
      ['No answer came. Did A buy?', '没有回答，A 买到了吗？'],
      [
        'Nobody knows: unknown is an answer; a void mark makes the later “no” final.',
        '不知道：unknown 也是回答；作废标记让后来的“没有”成为定论。',
      ],
      [
        'A request and its answer; cross out either: to A both look the same.',
        '一个请求，一个应答；划掉任意一个，A 看到的都一样。',
      ],
    ],
    [
      12,
      ['schedule='],
      ['Levels 7 to 9, in pairs.', '两人一组，第 7 到 9 关。'],
      ['“Par” is what the search proved to be the shortest.', '标准步数由搜索证明最短。'],
      ['A table of the pairs and their moves.', '每组的步数表。'],
    ],
    [
      10,
      ['run=mutex&schedule='],
      ['The last level: break the mutex.', '最后一关：打破互斥锁。'],
      [
        'Nobody can, within 2 actors and 2 faults: all schedules were tried. That is not “correct”: name the bounds.',
        '两个人、两次故障之内打不破，全部试过了。这不等于“正确”：说出界限。',
      ],
      ['The bounds: actors, faults, one Redis, no clock.', '界限：人数、故障数、一个 Redis、没有时钟。'],
    ],
  ],
};

/* The name of a word in addresses, how it is written in texts, and what it means. */
const WORDS = [
  [
    'guard',
    ['guard', 'guard'],
    [
      'What keeps buyers apart while one of them buys: a lock, a script, a transaction, or nothing.',
      '买家下单时把他们隔开的东西：锁、脚本、事务，或者什么都没有。',
    ],
  ],
  [
    'holder',
    ['holder', '持有者'],
    [
      'The client that has the lock now. A stale holder had it, and does not know that it is over.',
      '现在拿着锁的客户端。过期的持有者曾经拿着锁，却不知道已经结束。',
    ],
  ],
  [
    'owner',
    ['owner', '主人'],
    [
      'Whom the lock belongs to by what is stored in it: a token, or a client with a count of its holds.',
      '按锁里存的内容，锁属于谁：一个令牌，或者一个客户端和它的重入次数。',
    ],
  ],
  [
    'token',
    ['token', '令牌'],
    [
      'A random value that one acquisition writes into the lock, so that only its holder can release it.',
      '一次加锁写进锁里的随机值，只有持有者能凭它释放。',
    ],
  ],
  [
    'lease',
    ['lease', '租约'],
    [
      'The time after which a lock ends by itself; in Redis the TTL of its key.',
      '锁自己到期的时间；在 Redis 里就是键的 TTL。',
    ],
  ],
  [
    'watchdog',
    ['watchdog', '看门狗'],
    ['A thread that renews the lease while its holder works.', '持有者工作期间替它续约的线程。'],
  ],
  [
    'fence',
    ['fencing token', '防护令牌'],
    [
      'A number that grows with each holder. The resource refuses a write with a lower one.',
      '每个持有者都比前任更大的编号。资源拒绝编号更小的写入。',
    ],
  ],
  [
    'script',
    ['script', '脚本'],
    [
      'Lua that Redis runs as one step: nobody else’s command comes between.',
      'Redis 作为一步执行的 Lua：别人的命令插不进来。',
    ],
  ],
  [
    'majority',
    ['majority', '多数票'],
    [
      'More than half of independent servers. Two majorities share at least one server.',
      '独立服务器的一半以上。两个多数至少共用一台。',
    ],
  ],
  [
    'failover',
    ['failover', '故障转移'],
    ['A replica becomes the primary. What it had not received is lost.', '副本成为主节点。它还没收到的数据就丢了。'],
  ],
  [
    'void',
    ['void', '作废'],
    [
      'A mark that an attempt was given up: whatever of it arrives later is refused.',
      '一次尝试已被放弃的标记：之后才到的部分一律拒绝。',
    ],
  ],
  [
    'ledger',
    ['ledger', '账本'],
    [
      'The list of all that happened to a sale, in a Redis stream; the audit reads it.',
      '一场抢购的全部流水，存在 Redis stream 里；审计就读它。',
    ],
  ],
  [
    'epoch',
    ['epoch', 'epoch'],
    [
      'The number of a sale’s life: it grows when the sale is rebuilt, and old writes are refused.',
      '场次的代数：重建一次加一，旧的写入会被拒绝。',
    ],
  ],
  [
    'unit',
    ['unit', '库存'],
    ['One piece of what is for sale. Oversold: more orders than units.', '还能卖的件数。超卖：订单比货多。'],
  ],
];

const at = (lang) => (lang === 'zh' ? 1 : 0);

/** A text in which the first use of each word of the glossary is a link to it. */
export function glossed(i18n, text) {
  const own = WORDS.map(([id, names]) => [id, names[at(i18n.lang)]]).filter(
    ([, name]) => /^\w+( \w+)?$/.test(name) || i18n.lang === 'zh',
  );
  const pattern = new RegExp(
    i18n.lang === 'zh'
      ? own.map(([, name]) => name).join('|')
      : `\\b(?:${own.map(([, name]) => name).join('|')})(?=s?\\b)`,
    'gi',
  );
  const seen = new Set();
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(pattern)) {
    const [id] = own.find(([, name]) => name === found[0].toLowerCase());
    if (seen.has(id)) continue;
    seen.add(id);
    parts.push(text.slice(end, found.index), h('a.term', { href: `/lab?lesson=words#${id}` }, found[0]));
    end = found.index + found[0].length;
  }
  return [...parts, text.slice(end)];
}

function planOf(minutes, i18n, find) {
  const { t, lang } = i18n;
  let from = 0;
  const link = (address) => {
    const query = new URLSearchParams(address);
    const scenario = query.has('schedule') ? null : find(query.get('run'));
    return h(
      'li',
      h(
        'a',
        { href: `/lab?${address}` },
        scenario ? `${scenario.number} ${scenario.title}` : t('own.title.of', { guard: query.get('run') ?? '' }),
      ),
    );
  };
  const row = ([length, addresses, ...texts]) => {
    const [ask, answer, board] = texts.map((text) => text[at(lang)]);
    const begin = from;
    from += length;
    return h(
      'tr',
      h('td', `${begin}–${from}`),
      h('td', h('ul', addresses.map(link))),
      h('td', ask),
      h('td', answer),
      h('td', board),
    );
  };
  const heads = ['minutes', 'plays', 'ask', 'answer', 'board'].map((key) =>
    h('th', { scope: 'col' }, t(`lesson.${key}`)),
  );
  return h(
    'div',
    { class: 'plan', tabindex: 0, role: 'group', 'aria-label': t('lesson.title', { minutes }) },
    h('table', h('thead', h('tr', heads)), h('tbody', PLANS[minutes].map(row))),
  );
}

/**
 * The page of a lesson, or the glossary.
 *
 * @param {object} i18n
 * @param {string} which 45, 90 or words
 * @param {(name: string) => object|null} find a scenario
 */
export function lessonPage(i18n, which, find) {
  const { t, lang } = i18n;
  const isPlan = Object.hasOwn(PLANS, which);
  const title = isPlan ? t('lesson.title', { minutes: which }) : t('lesson.words');
  const words = () =>
    h(
      'dl.glossary',
      WORDS.flatMap(([id, names, meaning]) => [h('dt', { id }, names[at(lang)]), h('dd', meaning[at(lang)])]),
    );
  const others = ['45', '90', 'words'].filter((other) => other !== which);
  const name = (other) => (other === 'words' ? t('lesson.words') : t('lesson.title', { minutes: other }));
  return {
    title,
    node: h(
      'section.sheet',
      h('h1', { tabindex: -1, text: title }),
      isPlan ? h('p', t('lesson.before')) : null,
      isPlan ? planOf(which, i18n, find) : words(),
      isPlan ? h('p', t('lesson.home')) : null,
      h('p.small', t('exercise')),
      h(
        'p.small.others',
        others.map((other) => h('a', { href: `/lab?lesson=${other}` }, name(other))),
        h('button', { type: 'button', class: 'quiet', text: t('lesson.print'), on: { click: () => window.print() } }),
      ),
    ),
  };
}
