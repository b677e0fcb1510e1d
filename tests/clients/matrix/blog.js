// The blog of tests/clients/matrix/mod.rs, with the drivers of Node.js.
//
//     blog.js DRIVER HOST PORT USER PASSWORD SCHEMA
//
// DRIVER is `mysql2`, `mariadb`, or `mariadb-compressed`. With DRIVER alone it prints the library's version.

'use strict';
const { createHash } = require('crypto');
const { readFileSync } = require('fs');
const { join } = require('path');
const { inspect } = require('util');

const ALL_BYTES = Buffer.concat(Array(12288).fill(Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))));
const LONG_TEXT = 'Zeile 漢字 😀\n'.repeat(50000);

const mysql2 = {
  version: () => require('mysql2/package.json').version,
  connect: (address) =>
    require('mysql2/promise').createConnection({ ...address, multipleStatements: true, decimalNumbers: false }),
  rows: async (connection, statement, values) =>
    (await connection.query({ sql: statement, values, rowsAsArray: true }))[0],
  preparedRows: async (connection, statement, values) =>
    (await connection.execute({ sql: statement, values, rowsAsArray: true }))[0],
  run: async (connection, statement, values) => (await connection.query(statement, values))[0],
  execute: async (connection, statement, values) => (await connection.execute(statement, values))[0],
  bulk: async (connection, statement, rows) => {
    for (const row of rows) await connection.execute(statement, row);
  },
  fields: async (connection, statement) => {
    const [rows, fields] = await connection.query({ sql: statement, rowsAsArray: true });
    return [rows[0], fields.map(({ name, typeName, columnType }) => `${name}=${typeName ?? columnType}`)];
  },
  stream: (connection, statement) => connection.connection.query({ sql: statement, rowsAsArray: true }).stream(),
  afresh: async (connection, { user, password, database }) => {
    await connection.changeUser({ user, password, database });
    return 'change user';
  },
};

const mariadb = {
  // The package does not show its own description.
  version: () => JSON.parse(readFileSync(join(process.env.NODE_PATH, 'mariadb', 'package.json'))).version,
  connect: (address) =>
    require('mariadb').createConnection({ ...address, multipleStatements: true, allowPublicKeyRetrieval: true }),
  rows: (connection, sql, values) => connection.query({ sql, rowsAsArray: true }, values),
  preparedRows: (connection, sql, values) => connection.execute({ sql, rowsAsArray: true }, values),
  run: (connection, statement, values) => connection.query(statement, values),
  execute: (connection, statement, values) => connection.execute(statement, values),
  bulk: (connection, statement, rows) => connection.batch(statement, rows),
  fields: async (connection, sql) => {
    const rows = await connection.query({ sql, rowsAsArray: true });
    return [rows[0], rows.meta.map((column) => `${column.name()}=${column.type}`)];
  },
  stream: (connection, sql) => connection.queryStream({ sql, rowsAsArray: true }),
  afresh: async (connection, { isMariaDb }) => {
    // The driver refuses this toward MySQL.
    if (!isMariaDb) return 'nothing';
    await connection.reset();
    return 'reset';
  },
};

const textOf = (value) => (value === null ? 'NULL' : String(value));
const rowOf = (row) => row.map(textOf).join('|');
const say = (step, ...values) => console.log(`${step}: ${values.map(textOf).join(' ')}`);
const sha256 = (value) => createHash('sha256').update(value).digest('hex');

/** What a driver is asked for so often, one after another. */
async function times(count, ask) {
  const found = [];
  for (let index = 0; index < count; index += 1) found.push(await ask(index));
  return found;
}

async function increments(driver, connection) {
  const run = async (statement) => (await driver.run(connection, statement)).affectedRows;
  const execute = async (statement, values) => (await driver.execute(connection, statement, values)).affectedRows;
  say('text', ...(await times(10, () => run('UPDATE posts SET views = views + 1 WHERE id = 1'))));
  say('prepared', ...(await times(5, () => execute('UPDATE posts SET views = views + 1 WHERE id = ?', [1]))));
  say('bound', ...(await times(3, () => execute('UPDATE posts SET likes = likes + ? WHERE id = ?', [2, 1]))));
  await driver.bulk(connection, 'UPDATE posts SET views = views + ? WHERE id = ?', [[1, 5], [2, 6], [3, 5]]);
  say('bulk', rowOf((await driver.rows(connection, 'SELECT SUM(views) FROM posts WHERE id IN (5, 6)'))[0]));
}

async function transactions(driver, connection) {
  const run = async (statement) => (await driver.run(connection, statement)).affectedRows;
  const ask = async (statement) => rowOf((await driver.rows(connection, statement))[0]);
  await connection.beginTransaction();
  const committed = await run('UPDATE posts SET likes = likes + 10 WHERE id = 1');
  await connection.commit();
  await connection.beginTransaction();
  const rolledBack = await run('UPDATE posts SET likes = likes + 100 WHERE id = 1');
  await connection.rollback();
  say('transactions', committed, rolledBack, await ask('SELECT likes FROM posts WHERE id = 1'));
  await connection.beginTransaction();
  await run('UPDATE posts SET views = views + 1 WHERE id = 4');
  const within = await ask('SELECT views FROM posts WHERE id = 4');
  await connection.rollback();
  say('within', within, await ask('SELECT views FROM posts WHERE id = 4'));
}

async function otherWrites(driver, connection) {
  const execute = async (statement, values) => (await driver.execute(connection, statement, values)).affectedRows;
  const guarded = 'UPDATE posts SET stock = stock - 1 WHERE id = ? AND stock >= 1';
  say('guarded', ...(await times(8, () => execute(guarded, [1]))));
  const days = ['2026-11-22', '2026-11-22', '2026-11-22', '2026-11-23', '2026-11-23'];
  const upsert = 'INSERT INTO sign_ups (day, hits) VALUES (?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1';
  say('upserts', ...(await times(5, (index) => execute(upsert, [days[index]]))));
  const added = (await driver.run(connection, 'UPDATE posts SET views = views + 1 WHERE id = 8')).affectedRows;
  // What a driver puts before a NULL and before a key is read with care.
  const changed = await execute('UPDATE posts SET body = ?, views = 5 WHERE id = ?', [null, 8]);
  say('set', added, changed, rowOf((await driver.rows(connection, 'SELECT views FROM posts WHERE id = 8'))[0]));
  const next = async () => (await driver.run(connection, 'UPDATE seq SET id = LAST_INSERT_ID(id + 1)')).insertId;
  say('sequence', ...(await times(3, next)));
}

async function reads(driver, connection) {
  const statement = 'SELECT id, title, body, views, likes, stock, price FROM posts WHERE id = ?';
  say('row', rowOf((await driver.rows(connection, statement, [1]))[0]));
  say('prepared row', rowOf((await driver.preparedRows(connection, statement, [1]))[0]));
  const list = 'SELECT id, title, views FROM posts WHERE id <= 5 ORDER BY views DESC, id';
  say('list', ...(await driver.rows(connection, list)).map(rowOf));
  say('sum', rowOf((await driver.rows(connection, 'SELECT COUNT(*), SUM(views), MAX(likes) FROM posts'))[0]));
  const days = await driver.rows(connection, 'SELECT CAST(day AS CHAR), hits FROM sign_ups ORDER BY day');
  say('days', ...days.map(rowOf));
  const [row, columns] = await driver.fields(connection, 'SELECT * FROM posts WHERE id = 1');
  say('columns', ...columns);
  say('values', inspect(row, { breakLength: Infinity }));
}

async function unicode(driver, connection) {
  const title = 'Ångström’s 😀';
  const insert = 'INSERT INTO posts (id, title, body) VALUES (20001, ?, ?)';
  const inserted = (await driver.execute(connection, insert, [title, null])).affectedRows;
  const statement = 'SELECT id, title, body, views FROM posts WHERE title = ?';
  const row = (await driver.rows(connection, statement, [title]))[0];
  const deleted = await driver.run(connection, 'DELETE FROM posts WHERE id = ?', [20001]);
  say('unicode', inserted, rowOf(row), deleted.affectedRows);
}

async function large(driver, connection) {
  await driver.execute(connection, 'UPDATE posts SET picture = ?, body = ? WHERE id = 2', [ALL_BYTES, LONG_TEXT]);
  const statement = 'SELECT picture, body, views FROM posts WHERE id = 2';
  const [picture, body, views] = (await driver.rows(connection, statement))[0];
  const asked = 'SELECT SHA2(picture, 256), SHA2(body, 256) FROM posts WHERE id = 2';
  const there = (await driver.rows(connection, asked))[0];
  say('large', picture.length, Buffer.byteLength(body), views, ...there);
  say('came back', sha256(picture), sha256(body));
  // The same in the text of a query.
  await driver.run(connection, 'UPDATE posts SET picture = ?, body = ? WHERE id = 2', [ALL_BYTES, LONG_TEXT]);
  say('large again', ...(await driver.preparedRows(connection, asked))[0]);
}

async function stream(driver, connection) {
  let [count, total, letters] = [0, 0, 0];
  const rows = driver.stream(connection, 'SELECT id, title, views FROM posts WHERE id > 10 ORDER BY id');
  for await (const [number, title, views] of rows) {
    count += 1;
    total += number * views;
    letters += title.length;
  }
  say('stream', count, total, letters);
}

async function errors(driver, connection) {
  const codes = [];
  for (const statement of [
    "INSERT INTO posts (id, title) VALUES (1, 'again')",
    'UPDATE posts SET views = views + WHERE id = 1',
    'UPDATE posts SET views = views + 1, nothing = 1 WHERE id = 1',
    'SELECT views, nothing FROM posts',
    'UPDATE posts SET stock = stock - 1 WHERE id = 1',
  ]) {
    try {
      await driver.run(connection, statement);
    } catch (error) {
      codes.push(error.errno);
      say('error', error.errno, error.code, error.sqlState, error.sqlMessage);
    }
  }
  say('errors', ...codes);
}

async function warnings(driver, connection) {
  const statement = "UPDATE posts SET price = '1.239' WHERE id = 7";
  const { affectedRows, info, warningStatus, warningCount, changedRows } = await driver.run(connection, statement);
  say('told', affectedRows, changedRows, warningStatus ?? warningCount, info);
  const cast = "SELECT CAST('12abc' AS SIGNED), views FROM posts WHERE id = 1";
  say('warned', rowOf((await driver.rows(connection, cast))[0]));
  const [[, code, message]] = await driver.rows(connection, 'SHOW WARNINGS');
  say('warning', code);
  say('message', message);
}

async function several(driver, connection) {
  const found = await driver.rows(
    connection,
    'SELECT views FROM posts WHERE id = 1; DO 0; SELECT title FROM posts WHERE id = 5; SELECT COUNT(*) FROM seq',
  );
  say('several', ...found.map((result) => (Array.isArray(result) ? result.map(rowOf) : result.affectedRows)));
}

async function again(driver, connection, address) {
  const ask = async (to, what) => rowOf((await driver.rows(to, `SELECT views, ${what} FROM posts WHERE id = 1`))[0]);
  await driver.run(connection, 'SET @mine = 1');
  await connection.end();
  const other = await driver.connect(address);
  say('again', await ask(other, '@mine'));
  await driver.run(other, 'SET @mine = 2');
  const [[version]] = await driver.rows(other, 'SELECT VERSION()');
  const how = await driver.afresh(other, { ...address, isMariaDb: version.includes('MariaDB') });
  say('afresh', how, await ask(other, '@mine, DATABASE()'));
  return other;
}

/** How many of the rows were affected when four connections run a statement so often each. */
async function together(driver, address, statement, count) {
  const connections = await Promise.all(Array.from({ length: 4 }, () => driver.connect(address)));
  const crowd = async (connection) =>
    times(count, async () => (await driver.execute(connection, statement, [3])).affectedRows);
  const affected = (await Promise.all(connections.map(crowd))).flat();
  await Promise.all(connections.map((connection) => connection.end()));
  return `${affected.reduce((sum, rows) => sum + rows, 0)} of ${affected.length}`;
}

async function crowd(driver, connection, address) {
  const crowded = await together(driver, address, 'UPDATE posts SET views = views + 1 WHERE id = ?', 10);
  const guarded = 'UPDATE posts SET stock = stock - 1 WHERE id = ? AND stock >= 1';
  const sold = await together(driver, address, guarded, 5);
  const left = (await driver.rows(connection, 'SELECT views, stock FROM posts WHERE id = 3'))[0];
  say('crowd', crowded, 'and', sold, 'leave', rowOf(left));
}

async function main(name, host, port, user, password, database) {
  const [library, compressed] = name.split('-');
  const driver = { mysql2, mariadb }[library];
  if (!host) return console.log(driver.version());
  // A busy machine may take longer than a second, which is mariadb's own limit.
  const patience = { connectTimeout: 60000 };
  const address = { host, port: Number(port), user, password, database, compress: Boolean(compressed), ...patience };
  let connection = await driver.connect(address);
  for (const step of [
    increments, transactions, otherWrites, reads, unicode, large, stream, errors, warnings, several,
  ]) {
    await step(driver, connection);
  }
  connection = await again(driver, connection, address);
  await crowd(driver, connection, address);
  await connection.end();
  return console.log('finished');
}

main(...process.argv.slice(2));
