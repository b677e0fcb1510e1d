// Prisma, on its adapter for the mariadb driver. The client is generated from schema.prisma.

const { PrismaMariaDb } = require('@prisma/adapter-mariadb')
const { connection, introduce, run, main } = require('./talk')

main(async () => {
  const to = await introduce('Prisma', '@prisma/client', 'mariadb', `
    CREATE TABLE \`posts\` (\`id\` INTEGER NOT NULL AUTO_INCREMENT, \`title\` VARCHAR(100) NOT NULL, \`views\` INTEGER NOT
    NULL DEFAULT 0, \`likes\` BIGINT NOT NULL DEFAULT 0, \`updatedAt\` DATETIME(3) NOT NULL, PRIMARY KEY (\`id\`))`,
  ['views', 'likes'], ['updatedAt'])
  const { PrismaClient } = require(process.env.COUNTERSINK_ORM_PRISMA)
  const prisma = new PrismaClient({ adapter: new PrismaMariaDb({ ...connection(to), allowPublicKeyRetrieval: true }) })
  await run([
    `await prisma.post.update({ where: { id: 1 }, data: { views: { increment: 1 } } })`,
    `await prisma.post.updateMany({ where: { id: { in: [1, 2] } }, data: { likes: { decrement: 2 } } })`,
    `await prisma.post.updateMany({ where: { id: 3 }, data: { views: { increment: 1 }, likes: { increment: 1 } } })`,
    'await prisma.$executeRaw`UPDATE posts SET views = views + ${1} WHERE id = ${2}`',
  ], { prisma })
  await prisma.$disconnect()
})
