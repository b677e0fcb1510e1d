// Logs in with MariaDB's Node.js connector and runs an ordinary session.
//
//     mariadb_session.js HOST PORT USER PASSWORD TLS [SCHEMA [OTHER_USER OTHER_PASSWORD]]
//
// TLS is `off` or `on` (the certificate is not checked). Without SCHEMA it only logs in; with OTHER_USER it ends with
// COM_CHANGE_USER. Prints one line of JSON: {"ok": true, ...} or {"ok": false, "code": .., "message": ..}.
//
// Without arguments each line of standard input is a login, its arguments parted by tabs.

'use strict';
const readline = require('readline');
const mariadb = require('mariadb');

async function one(connection, sql, values) {
  const rows = await connection.query({ sql, rowsAsArray: true, bigIntAsNumber: true }, values);
  return rows[0];
}

async function identity(connection) {
  const [user, version, id] = await one(connection, 'SELECT CURRENT_USER(), @@version, CONNECTION_ID()');
  const [, cipher] = await one(connection, "SHOW SESSION STATUS LIKE 'Ssl_cipher'");
  return { current_user: user, version, connection_id: id, upstream_cipher: cipher };
}

async function session(connection) {
  const found = { id: connection.threadId };
  const table = '`t_' + found.id + '`';
  await connection.query(`DROP TABLE IF EXISTS ${table}`);
  await connection.query(`CREATE TABLE ${table} (id INT PRIMARY KEY, v VARCHAR(20))`);
  // MariaDB sends this one as COM_STMT_BULK_EXECUTE.
  const inserted = await connection.batch(`INSERT INTO ${table} VALUES (?, ?)`, [[1, 'one'], [2, 'two']]);
  found.inserted = inserted.affectedRows;
  const rows = await connection.execute(`SELECT v FROM ${table} WHERE id = ?`, [2]);
  found.prepared = rows[0].v;
  await connection.beginTransaction();
  await connection.query(`UPDATE ${table} SET v = 'gone' WHERE id = 1`);
  await connection.rollback();
  found.rolled_back = (await one(connection, `SELECT v FROM ${table} WHERE id = 1`))[0];
  await connection.beginTransaction();
  await connection.query(`UPDATE ${table} SET v = 'kept' WHERE id = 1`);
  await connection.commit();
  found.committed = (await one(connection, `SELECT v FROM ${table} WHERE id = 1`))[0];
  await connection.query(`INSERT INTO ${table} VALUES (1, 'again')`).catch((error) => { found.duplicate = error.errno; });
  const results = await connection.query({ sql: 'SELECT 1; SELECT 2, 3; DO 0', rowsAsArray: true, bigIntAsNumber: true });
  found.multi = results.filter(Array.isArray).map((rows) => rows[0]);
  found.large = (await one(connection, "SELECT REPEAT('x', 200000)"))[0].length;
  await connection.query(`DROP TABLE ${table}`);
  await connection.ping();
  return found;
}

async function changeUser(connection, user, password, database) {
  await connection.query('SET @mine = 1');
  await connection.changeUser({ user, password, database });
  const [mine] = await one(connection, 'SELECT @mine');
  return { ...(await identity(connection)), state_is_gone: mine === null };
}

async function main(host, port, user, password, tls, schema, otherUser, otherPassword) {
  let connection;
  let result;
  try {
    connection = await mariadb.createConnection({
      host, port: Number(port), user, password, database: schema, multipleStatements: true,
      allowPublicKeyRetrieval: true, connectTimeout: 5000,
      ssl: tls === 'on' ? { rejectUnauthorized: false } : false,
    });
    result = { ok: true, client: `mariadb ${mariadb.version}`, ...(await identity(connection)) };
    result.client_tls = tls === 'on';
    result.thread_id = connection.threadId;
    if (schema) result.session = await session(connection);
    if (otherUser) result.changed = await changeUser(connection, otherUser, otherPassword, schema);
    await connection.end();
  } catch (error) {
    if (connection) connection.destroy();
    result = { ok: false, code: error.errno ?? null, message: String(error.sqlMessage ?? error.message), sql_state: error.sqlState };
  }
  console.log(JSON.stringify(result));
  process.exitCode = result.ok ? 0 : 1;
}

async function mainOfEachLine() {
  for await (const line of readline.createInterface({ input: process.stdin })) await main(...line.split('\t'));
}

if (process.argv.length > 2) main(...process.argv.slice(2));
else mainOfEachLine();
