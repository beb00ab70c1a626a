import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { isSecret, VARIABLE_NAMES as names, VARIABLES } from '../../src/config/variables.ts'
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
