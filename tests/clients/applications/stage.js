// How a Node.js application talks to tests/clients/applications/played.rs; stage.py says what is said.

const fs = require('node:fs')
const path = require('node:path')
const readline = require('node:readline')

const WORKERS = 4
const DAYS = ['2026-11-22', '2026-11-22', '2026-11-22', '2026-11-23', '2026-11-23']
const POSTS = [1, 2, 3, 4, 5].map((id) => ({ id, title: `post ${id}`, stock: { 1: 5, 3: 12 }[id] ?? 0 }))

// The version of an installed package; not all of them let their package.json be required.
function version(name) {
  const file = path.join(process.env.NODE_PATH, name, 'package.json')
  return JSON.parse(fs.readFileSync(file)).version
}

function textOf(value) {
  if (Array.isArray(value)) return value.map(textOf).join('|')
  if (value instanceof Date) return value.toISOString().slice(0, 10)
  return value === null || value === undefined ? 'NULL' : String(value)
}

const say = (...values) => console.log('  ', ...values.map(textOf))

async function times(count, work) {
  const done = []
  for (let i = 0; i < count; i += 1) done.push(await work())
  return done
}

// How much `work` has done when four run it so often each.
async function inCrowd(work, count) {
  const done = (await Promise.all(Array.from({ length: WORKERS }, () => times(count, work)))).flat()
  return `${done.reduce((sum, one) => sum + one, 0)} of ${done.length}`
}

// Says how the database refuses it.
async function refused(attempt) {
  try {
    await attempt()
    say('not refused')
  } catch (error) {
    const said = error.original ?? error.driverError ?? error.cause ?? error
    say(error.constructor.name, said.errno, said.sqlState, said.sqlMessage)
  }
}

// `connect` gives the application: what it does for `make`, its steps, and how it ends.
function main(name, connect) {
  if (process.argv.length < 4) {
    console.log(`${version(name)}, mysql2 ${version('mysql2')}`)
    return
  }
  const [task, host, port, user, password, database] = process.argv.slice(-6)
  const hear = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  const body = async () => {
    const { make, steps, end } = await connect({ host, port: Number(port), user, password, database })
    if (task === 'make') await make()
    else {
      for (const [step, play] of Object.entries(steps)) {
        console.log('>', step)
        await hear.next()
        await play()
      }
      console.log('finished')
    }
    await end()
  }
  body().then(() => process.exit(0), (error) => {
    console.error(error)
    process.exit(1)
  })
}

module.exports = { DAYS, POSTS, WORKERS, inCrowd, main, refused, say, times }
