// mysql2 alone, as applications without a library use it. Before 3.2x `execute` sent every number as a double: the
// argument `mysql2-3.11` takes an older one.

const driver = process.argv[2] || 'mysql2'
const mysql = require(`${driver}/promise`)
const { connection, introduce, run, main } = require('./talk')

main(async () => {
  const to = await introduce('mysql2', driver, driver, `
    CREATE TABLE posts (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, title VARCHAR(100), views INT NOT NULL
    DEFAULT 0, likes BIGINT NOT NULL DEFAULT 0, updated_at DATETIME(3) NULL)`, ['views', 'likes'], ['updated_at'])
  const pool = mysql.createPool({ ...connection(to), timezone: 'Z' })
  await run([
    `await pool.query('UPDATE posts SET views = views + ? WHERE id = ?', [1, 1])`,
    `await pool.execute('UPDATE posts SET views = views + 1 WHERE id = ?', [1])`,
    `await pool.execute('UPDATE posts SET views = views + ? WHERE id = ?', [1, 2])`,
    `await pool.execute('UPDATE posts SET likes = likes + ? WHERE id = ?', [1, 2])`,
    `await pool.execute('UPDATE posts SET views = views + 1, updated_at = ? WHERE id = ?', [new Date(), 3])`,
  ], { pool })
})
