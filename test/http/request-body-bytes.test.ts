import type { IncomingMessage } from 'node:http'
import { expect, test } from '@jest/globals'
import { estimateRequestBytes } from '../../src/http/request-body.ts'
import { usedHeapBytes } from '../support/heap.ts'

const TEXT_BYTES = 60_000
const COPIES = 15

/** Joins the results of `part` up to the maximum length of a body. */
function repeated(part: (n: number) => string): string {
  const parts: string[] = []
  for (let n = 0, length = 0; length < TEXT_BYTES; n++) {
    const next = part(n)
    parts.push(next)
    length += next.length
  }
  return parts.join(',')
}

const name = (copy: number, n: number) => `${copy}${n.toString(36)}`

/** Bodies that occupy many times their length; each copy has different names. */
const BODIES: Readonly<Record<string, (copy: number) => string>> = {
  'empty objects': () => `{"x":[${repeated(() => '{}')}]}`,
  'empty lists': () => `{"x":[${repeated(() => '[]')}]}`,
  'objects that each have another name': (copy) => `{"x":[${repeated((n) => `{"${name(copy, n)}":{}}`)}]}`,
  'one object of many names': (copy) => `{${repeated((n) => `"${name(copy, n)}":1`)}}`,
  'short texts': (copy) => `{"x":[${repeated((n) => `"${name(copy, n)}"`)}]}`,
  'a text of wide characters': (copy) => `{"x":"\u4e2d${'p'.repeat(TEXT_BYTES)}${copy}"}`,
  'objects within objects': () => `${'{"a":'.repeat(TEXT_BYTES / 6)}{}${'}'.repeat(TEXT_BYTES / 6)}`,
}

const bytesOf = (body?: unknown, url = '', rawHeaders: string[] = []) =>
  estimateRequestBytes({ url, rawHeaders, body } as unknown as IncomingMessage)

test.each<[name: string, more: unknown, less: unknown, bytes: number]>([
  ['a character of a string, which may be a wide one', { a: 'pp' }, { a: 'p' }, 2],
  ['a character of a name', { aa: 1 }, { a: 1 }, 2],
  ['an item of a list: a value', [1, true], [1], 72],
  ['null: a value', [null], [], 72],
  ['a member: a name that no other object has, and a value', { a: 1, bb: 1 }, { a: 1 }, 72 + 150 + 2 * 2],
  ['an object in a list: a value', [{}], [], 72],
])('counts %s', (_name, more, less, bytes) => {
  expect(bytesOf(more) - bytesOf(less)).toBe(bytes)
})

test('counts the URL, and each name and value of a header', () => {
  const empty = bytesOf({}, '', [])
  expect(bytesOf({}, '/a?b', []) - empty).toBe(4)
  expect(bytesOf({}, '', ['Abc', 'de']) - empty).toBe(2 * 48 + 5)
})

test.each(Object.entries(BODIES))('a body of %s occupies no more memory than the estimate', (_name, text) => {
  const before = usedHeapBytes()
  const bodies = Array.from({ length: COPIES }, (_, copy): unknown => JSON.parse(text(copy)))
  const held = usedHeapBytes() - before
  const counted = bodies.reduce<number>((bytes, body) => bytes + bytesOf(body), 0)
  expect(held).toBeGreaterThan(COPIES * 10_000) // otherwise this test would measure nothing
  expect(held).toBeLessThan(1.1 * counted)
})

test('the estimate for an ordinary sign-in is a few kilobytes', () => {
  const body = {
    username: 'amelia@example.test',
    password: 'p'.repeat(20),
    options: { warnBeforePasswordExpired: true },
  }
  expect(bytesOf(body)).toBeLessThan(2000)
})
