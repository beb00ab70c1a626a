import { expect, test } from '@jest/globals'
import { changedTunables, defaultTunables } from '../../src/config/tunables.ts'
import { load, problemsOf } from './valid-environment.ts'

/** The content of a CONFIG_FILE that sets the tunable at `path`. */
const setting = (path: string, value: unknown) =>
  JSON.stringify(path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value))

const problemsIn = (text: string) =>
  problemsOf({ CONFIG_FILE: '/changes.json' }, { readFile: () => text }).map((each) =>
    each.replace('CONFIG_FILE: ', ''),
  )

const pathsOf = (group: object, prefix = ''): string[] =>
  Object.entries(group).flatMap(([name, value]) =>
    typeof value === 'object' ? pathsOf(value, `${prefix}${name}.`) : [prefix + name],
  )

const LIST_TIMES = 'pam.lists: must have freshMs <= staleMs <= onErrorMs, and freshMs <= meOnErrorMs'

const typeOf = (value: unknown) => (value === null ? 'null' : typeof value)

test('the shipped tunables are valid', () => {
  const tunables = defaultTunables()
  expect(changedTunables.parse(JSON.stringify(tunables))).toEqual(tunables)
})

test('CONFIG_FILE changes what it names, and nothing else', () => {
  const { tunables } = load(
    { CONFIG_FILE: '/changes.json' },
    { readFile: () => '{ "http": { "maxConnections": 5000 }, "limits": { "call": {} } }' },
  )
  const defaults = defaultTunables()
  expect(tunables).toEqual({ ...defaults, http: { ...defaults.http, maxConnections: 5000 } })
})

test.each(pathsOf(defaultTunables()))('%s: a value of another type is refused by name', (path) => {
  for (const value of [null, '1', {}])
    expect(problemsIn(setting(path, value))).toEqual([
      `${path}: Invalid input: expected number, received ${typeOf(value)}`,
    ])
  expect(problemsIn(setting(path, -1))).toContainEqual(expect.stringMatching(`^${path}: Too small`))
})

test.each([
  ['http.maxConections', 1, 'http: Unrecognized key: "maxConections"'],
  ['upstream.okta', {}, 'upstream: Unrecognized key: "okta"'],
  ['sesion.maxPerUser', 1, 'Unrecognized key: "sesion"'],
  ['__proto__.maxPerUser', 1, 'Unrecognized key: "__proto__"'],
  ['store', null, 'store: Invalid input: expected object, received null'],
  ['store.commandTimeoutMs', 1.5, 'store.commandTimeoutMs: Invalid input: expected int, received number'],
  ['http.maxConnections', 1_000_001, 'http.maxConnections: Too big: expected number to be <=1000000'],
  [
    'http.shutdownGraceMs',
    12_999,
    'http.shutdownGraceMs: leaves no time for a running upstream call after http.readinessLeadMs',
  ],
  ['pam.lists.staleMs', 59_999, LIST_TIMES],
  ['pam.lists.onErrorMs', 599_999, LIST_TIMES],
  ['pam.lists.meOnErrorMs', 59_999, LIST_TIMES],
])('%s = %j is refused, and the message names its path', (path, value, problem) => {
  expect(problemsIn(setting(path, value))).toEqual([problem])
})

test.each([
  ['http.shutdownGraceMs', 13_000],
  ['pam.lists.staleMs', 60_000],
  ['pam.lists.onErrorMs', 600_000],
  ['pam.lists.meOnErrorMs', 60_000],
])('%s may be as low as %i', (path, lowest) => {
  expect(problemsIn(setting(path, lowest))).toEqual([])
})

test('every problem is reported in one run, with those of the variables', () => {
  const text = '{ "http": { "maxConnections": 0, "secret": 1 }, "sizes": { "body": 1 }, "store": 2 }'
  expect(problemsOf({ CONFIG_FILE: '/changes.json', PORT: 'x' }, { readFile: () => text })).toEqual([
    expect.stringContaining('PORT: '),
    'CONFIG_FILE: http.maxConnections: Too small: expected number to be >=1',
    'CONFIG_FILE: http: Unrecognized key: "secret"',
    'CONFIG_FILE: store: Invalid input: expected object, received number',
    'CONFIG_FILE: Unrecognized key: "sizes"',
  ])
})

test.each([
  ['{ "http": { "maxConnections": 1 }, "http": {} }', 'http: is given twice'],
  ['{ "store": { "commandTimeoutMs": 9, "commandTimeoutMs": 9 } }', 'store.commandTimeoutMs: is given twice'],
  [
    '{"limits":{"call":{"perAddress":{"burst":{},"burst":{}}}}}',
    'limits.call.perAddress.burst: is given twice',
  ],
  [String.raw`{ "a\"{": 1, "store": 1, "st\u006fre": 2 }`, 'store: is given twice'],
])('a name that is given twice in an object of CONFIG_FILE is refused: %s', (text, problem) => {
  expect(problemsIn(text)).toEqual([problem])
})

test.each([
  '{ "http": { "maxConnections": 5 }, "session": { "maxPerUser": 5 } }',
  '{ "http": { "maxConnections": 5 }, "store": {}, "pam": { "lists": {} } }',
])('a name in two objects of CONFIG_FILE is not given twice: %s', (text) => {
  expect(problemsIn(text)).toEqual([])
})

test.each([
  ['', 'the file is empty'],
  ['maxConnections = 5', 'is not JSON'],
  ['[]', 'Invalid input: expected object, received array'],
  ['null', 'Invalid input: expected object, received null'],
])('CONFIG_FILE with %j is refused without its content', (text, problem) => {
  expect(problemsIn(text)).toEqual([problem])
})
