import { expect, test } from '@jest/globals'
import { createSeal } from '../../../src/crypto/keys.ts'
import { answers, failureOf, nameOf, replicas, STATE } from '../step-replicas.ts'

test('a transaction of another version is unknown, and is kept', async () => {
  const masterKey = Buffer.alloc(32, 1)
  const { replica, memory, record } = await replicas({ masterKeys: [masterKey] })
  const seal = createSeal([masterKey], 'transaction')
  const rewrite = async (change: object) => {
    const stored = JSON.parse(seal.open((await memory.get(record)) ?? '', record) ?? '')
    const text = seal.seal(JSON.stringify({ ...stored, ...change }), record)
    await memory.set(record, text, 60_000)
    return text
  }
  await rewrite({})
  expect(nameOf(await replica().run(STATE, answers('fine')))).toBe('fine')
  const newer = await rewrite({ version: 2 })
  expect(await failureOf(replica().run(STATE))).toMatchObject({ status: 401, code: 'E0000011' })
  expect(await memory.get(record)).toBe(newer)
})
