// All commands of the npm package redis on BF and CF: node clients.js PORT PROTOCOL. NODE_PATH names where it is.
'use strict';
const assert = require('node:assert/strict');
const { createClient, RESP_TYPES } = require('redis');

const [port, protocol] = process.argv.slice(2).map(Number);

async function copyInChunks(commands, buffers, from, to) {
  let iterator = 0;
  let chunks = 0;
  for (;;) {
    const next = await buffers.scanDump(from, iterator);
    if (next.iterator === 0) return chunks;
    assert.equal(await commands.loadChunk(to, next.iterator, next.chunk), 'OK');
    iterator = next.iterator;
    chunks++;
  }
}

async function bloom(client, buffers) {
  const bf = client.bf;
  assert.equal(await bf.reserve('b', 0.01, 1000, { EXPANSION: 4 }), 'OK');
  assert.equal(await bf.reserve('fixed', 0.01, 3, { NONSCALING: true }), 'OK');
  assert.equal(await bf.add('b', 'x'), true);
  assert.equal(await bf.add('b', 'x'), false);
  assert.deepEqual(await bf.mAdd('b', ['x', 'y']), [false, true]);
  assert.deepEqual(await bf.insert('b', ['y', 'z'], { NOCREATE: true }), [false, true]);
  assert.deepEqual(await bf.insert('other', ['y'], { CAPACITY: 50, ERROR: 0.001, EXPANSION: 3 }), [true]);
  assert.equal(await bf.exists('b', 'z'), true);
  assert.equal(await bf.exists('b', 'nothing'), false);
  assert.deepEqual(await bf.mExists('b', ['x', 'nothing']), [true, false]);
  assert.equal(await bf.card('b'), 3);
  const info = await bf.info('b');
  assert.equal(info.Capacity, 1000);
  assert.equal(info['Number of filters'], 1);
  assert.equal(info['Number of items inserted'], 3);
  assert.equal(info['Expansion rate'], 4);
  assert.ok(info.Size > 0);
  assert.equal((await bf.info('fixed'))['Expansion rate'], null);
  await assert.rejects(bf.insert('none', ['x'], { NOCREATE: true }), /not found/);
  await assert.rejects(bf.reserve('b', 0.01, 1000), /item exists/);
  assert.ok((await copyInChunks(bf, buffers.bf, 'b', 'b2')) >= 1);
  assert.deepEqual(await bf.mExists('b2', ['x', 'y', 'z', 'nothing']), [true, true, true, false]);
}

async function cuckoo(client, buffers) {
  const cf = client.cf;
  assert.equal(await cf.reserve('c', 1000000, { BUCKETSIZE: 4, MAXITERATIONS: 30, EXPANSION: 2 }), 'OK');
  assert.equal(await cf.add('c', 'x'), true);
  assert.equal(await cf.addNX('c', 'x'), false);
  assert.equal(await cf.addNX('c', 'y'), true);
  assert.deepEqual(await cf.insert('c', ['x', 'z'], { NOCREATE: true }), [true, true]);
  // The server replies with integers in both protocols; the client maps them in RESP2 only.
  assert.deepEqual(await cf.insertNX('c', ['x', 'w']), protocol === 2 ? [false, true] : [0, 1]);
  assert.deepEqual(await cf.insert('other_c', ['y'], { CAPACITY: 500 }), [true]);
  assert.equal(await cf.count('c', 'x'), 2);
  assert.equal(await cf.exists('c', 'y'), true);
  assert.equal(await cf.exists('c', 'nothing'), false);
  assert.equal(await cf.del('c', 'x'), true);
  assert.equal(await cf.del('c', 'nothing'), false);
  const info = await cf.info('c');
  assert.equal(info['Number of items inserted'], 4);
  assert.equal(info['Number of items deleted'], 1);
  assert.equal(info['Number of filters'], 1);
  assert.equal(info['Bucket size'], 4);
  assert.equal(info['Expansion rate'], 2);
  assert.equal(info['Max iterations'], 30);
  assert.ok(info.Size > 0 && info['Number of buckets'] > 0);
  await assert.rejects(cf.insert('none', ['x'], { NOCREATE: true }), /not found/);
  await assert.rejects(cf.del('none', 'x'), /Not found/);
  assert.ok((await copyInChunks(cf, buffers.cf, 'c', 'c2')) >= 1);
  for (const item of ['x', 'y', 'z', 'w']) assert.equal(await cf.exists('c2', item), true);
  assert.equal(await cf.exists('c2', 'nothing'), false);
}

(async () => {
  const client = createClient({ RESP: protocol, socket: { host: '127.0.0.1', port } });
  client.on('error', (error) => { throw error; });
  await client.connect();
  // Without this mapping the client decodes the chunks as text, which destroys them.
  const buffers = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  await bloom(client, buffers);
  await cuckoo(client, buffers);
  await client.close();
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
