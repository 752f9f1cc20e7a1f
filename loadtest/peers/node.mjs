/*
 * The peer in node: fastify and ioredis (which sends what is asked in one turn of the loop together), one process per
 * processor. node.mjs PORT SOCKET DIGEST MODULES
 */
import cluster from 'node:cluster';
import { createRequire } from 'node:module';

const [port, socket, digest, modules] = process.argv.slice(2);
if (cluster.isPrimary) {
  cluster.fork();
  cluster.fork();
  process.once('SIGTERM', () => process.exit(0));
} else {
  const require = createRequire(modules);
  const Redis = require('ioredis');
  const shop = new Redis({ path: socket, enableAutoPipelining: true });
  const app = require('fastify')();
  app.post('/*', async (request, reply) => {
    const buyer = request.headers['x-user-id'];
    const sold = await shop.evalsha(digest, 2, 'stock', 'orders', buyer, Date.now());
    return reply.code(sold === 1 ? 201 : 409).send({ buyer });
  });
  await app.listen({ port: Number(port), host: '127.0.0.1', backlog: 4096 });
}
