// Asks the SQL console with mysql2.
//
//     mysql2_console.js HOST PORT USER PASSWORD SCHEMA STATEMENT..
//
// Prints one line of JSON: {"ok": true, "rows": [[..], ..], "prepared": code} with a list of rows for each statement and
// the code that a prepared one is refused with, or {"ok": false, "code": .., "message": ..}.
'use strict';

const mysql = require('mysql2/promise');

async function main([host, port, user, password, database, ...statements]) {
  const connection = await mysql.createConnection({
    host, port: Number(port), user, password, database, rowsAsArray: true,
  });
  try {
    return await ask(connection, statements);
  } finally {
    connection.destroy();
  }
}

async function ask(connection, statements) {
  const rows = [];
  for (const statement of statements) {
    const [result] = await connection.query(statement);
    rows.push(Array.isArray(result) ? result : []);
  }
  let prepared = null;
  try {
    await connection.execute('SHOW STATS');
  } catch (error) {
    prepared = error.errno;
  }
  await connection.ping();
  return { ok: true, rows, prepared };
}

main(process.argv.slice(2))
  .catch((error) => ({ ok: false, code: error.errno, message: String(error.message) }))
  .then((result) => console.log(JSON.stringify(result)));
