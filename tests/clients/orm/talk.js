// How a Node.js program talks to tests/clients/orm/capture.rs: it runs each increment when it is told to.

const readline = require('node:readline')
const fs = require('node:fs')
const path = require('node:path')

const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const hear = async () => (await lines.next()).value
const say = (what) => process.stdout.write(JSON.stringify(what) + '\n')

// The version of an installed package; not all of them let their package.json be required.
function version(name) {
  const file = path.join(process.env.NODE_PATH, name, 'package.json')
  return JSON.parse(fs.readFileSync(file)).version
}

// Says who we are; host, port, user, password and schema come back.
async function introduce(library, name, driver, table, counters, touch) {
  const language = `Node.js ${process.versions.node}`
  table = table.trim().replace(/\s+/g, ' ')
  say({ library, version: version(name), language, driver: `${driver} ${version(driver)}`, table, counters, touch })
  const [host, port, user, password, schema] = (await hear()).split('\t')
  return { host, port: Number(port), user, password, schema }
}

// Where to connect, as mysql2 wants to be told.
function connection({ host, port, user, password, schema }) {
  return { host, port, user, password, database: schema }
}

// Runs lines of code that may await, with these names.
async function run(increments, names) {
  const AsyncFunction = (async () => {}).constructor
  for (const increment of increments) {
    const code = increment.trim().split('\n').map((line) => line.replace(/^ {4}/, '')).join('\n')
    say({ next: code })
    await hear()
    await new AsyncFunction(...Object.keys(names), code)(...Object.values(names))
    say({ done: true })
  }
}

function main(body) {
  body().then(() => process.exit(0), (error) => {
    console.error(error)
    process.exit(1)
  })
}

module.exports = { connection, introduce, run, main }
