import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import {
  isSecret,
  VARIABLE_NAMES as names,
  VARIABLES,
  type VariableName,
} from '../../src/config/variables.ts'
import { problemsOf } from './valid-environment.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const namesInFiles = names.filter(isSecret).map((name) => `${name}_FILE`)

test('.env.example has exactly the variables that the loader reads, in the same order', () => {
  const found = [...read('.env.example').matchAll(/^(?:# )?([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name)
  expect(found).toEqual(names)
})

test('.env.example sets the required variables and nothing else', () => {
  const set = [...read('.env.example').matchAll(/^([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name)
  expect(set).toEqual(names.filter((name) => !VARIABLES.shape[name].safeParse(undefined).success))
})

test('.env.example is valid except for its placeholders, which are refused', () => {
  const example = [...read('.env.example').matchAll(/^(?:# )?([A-Z][A-Z0-9_]+)=(.*)$/gm)]
  const env = Object.fromEntries(example.map(([, name, value]) => [name, value]))
  const problems = problemsOf({
    ...env,
    UPSTREAM_CA_FILE: '',
    NODE_EXTRA_CA_CERTS: '',
    REDIS_CA_FILE: '',
    REDIS_CERT_FILE: '',
    REDIS_KEY_FILE: '',
    CONFIG_FILE: '',
  })
  expect(problems.filter((problem) => !problem.endsWith(' the placeholder of the example'))).toEqual([])
  expect(problems.map((problem) => problem.split(':')[0]).sort()).toEqual(
    [
      'AUTHN_API_TOKEN',
      'AUTHN_BASE_URL',
      'EVENT_HOOK_SECRET',
      'OPS_TOKEN',
      'OPS_TOKENS',
      'PAM_BASE_URL',
      'PAM_KEY_ID',
      'PAM_KEY_SECRET',
      'APP_TOKENS',
      'OTEL_EXPORTER_OTLP_HEADERS',
      'REDIS_URL',
      'SECRET_KEYS',
    ].sort(),
  )
})

test('docs/configuration.md names every file variable', () => {
  const page = read('docs/configuration.md')
  for (const name of namesInFiles) expect(page).toContain(`\`${name}\``)
})

/** The comment above each variable, and its value. */
const described = read('.env.example')
  .split('\n\n')
  .flatMap((paragraph) => {
    const [, comment = '', name = '', value = ''] =
      /^((?:# .*\n)*)(?:# )?([A-Z][A-Z0-9_]+)=(.*)$/.exec(paragraph.trim()) ?? []
    return name === '' ? [] : [{ name, value, comment: comment.replaceAll(/^# |\n$/gm, '') }]
  })

test('.env.example says of each variable what it is, without links, and whether it is a secret', () => {
  expect(described.map(({ name }) => name)).toEqual(names)
  const bad = described.filter(({ comment }) => !/^[A-Z].*\.$/s.test(comment) || /\]\(|`/.test(comment))
  expect(bad).toEqual([])
  const marked = described.filter(({ comment }) => comment.startsWith('Secret. ')).map(({ name }) => name)
  expect(marked).toEqual(names.filter(isSecret))
})

test('.env.example and docs/configuration.md have the same examples, and the docs the loader’s defaults', () => {
  const rows = [...read('docs/configuration.md').matchAll(/^\| `([A-Z][A-Z0-9_]+)`(.*)\|$/gm)].map(
    ([, name = '', row = '']) => ({
      name,
      cells: row.split(/ ?\| ?/).map((cell) => cell.replace(/^`(.*)`$/, '$1')),
    }),
  )
  const examples = Object.fromEntries(rows.map(({ name, cells: [, , , example] }) => [name, example]))
  expect(Object.fromEntries(described.map(({ name, value }) => [name, value]))).toEqual(examples)
  for (const { name, cells } of rows) {
    const [, , text = ''] = cells
    if (text === '' || name === 'SIGN_IN_URL') continue // the default of SIGN_IN_URL is PUBLIC_URL
    const shape = VARIABLES.shape[name as VariableName]
    expect([name, shape.parse(undefined)]).toEqual([name, shape.parse(text)])
  }
})
