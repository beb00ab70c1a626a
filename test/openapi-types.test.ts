import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { COMPILERS, errorsIn } from './support/compile-pages.ts'

/** docs/openapi.json with the tools of tools/openapi, and the types that are generated from it. */

const ROOT = join(import.meta.dirname, '..')
const TOOLS = join(ROOT, 'tools/openapi')
const TYPES = join(ROOT, 'client/src/api-types.ts')

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'openapi-types-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const HEAD = `
declare const console: { log(...values: readonly unknown[]): void }
import type { ErrorObject, Factor, SignInAnswer, operations } from '${TYPES.replace(/\.ts$/, '.js')}'
declare const answer: SignInAnswer
declare const factor: Factor
declare const error: ErrorObject
declare const unlisted: operations['authenticate']['responses'][401]['content']['application/json']
`

const CORRECT = `${HEAD}
switch (answer.status) {
  case 'MFA_REQUIRED': {
    const listed: Factor[] = answer._embedded.factors ?? answer._embedded.factor ?? []
    const verify: string[] = listed.flatMap(({ _links }) => _links?.verify?.href ?? [])
    const remember: boolean | undefined = answer._embedded.policy?.allowRememberDevice
    console.log(answer.stateToken.length, verify, remember, answer._links.cancel.href)
    break
  }
  case 'MFA_CHALLENGE':
    if (answer.factorResult === 'WAITING' && answer._links.next?.name === 'poll') console.log(answer._links.prev)
    if (answer._embedded.factor?.factorType === 'push')
      console.log(answer._embedded.factor._embedded?.challenge?.correctAnswer?.toFixed())
    break
  case 'PASSWORD_WARN':
    console.log(answer._embedded.policy.expiration?.passwordExpireDays, answer._links.skip.href)
    break
  case 'RECOVERY':
    console.log(answer._embedded.user.recovery_question?.question)
    break
  case 'SUCCESS':
  case 'LOCKED_OUT':
    console.log(answer._links?.next?.href)
    break
  default: {
    const status: string = answer.status
    console.log(status, answer._links?.cancel?.href)
  }
}
if (factor.factorType === 'sms' || factor.factorType === 'call') console.log(factor.profile?.phoneNumber)
if (factor.factorType === 'signed_nonce' || factor.factorType === 'assertion:saml2') console.log(factor.id)
if (error.errorCode === 'E0000068' || error.errorCode === 'pam_timeout') console.log(error.errorCauses[0]?.errorSummary)
const code: string = unlisted.errorCode
console.log(code)
`

/** Each with the codes of the error: compilers may suggest another spelling. */
const MISTAKES: readonly (readonly [string, ...string[]])[] = [
  ["if (answer.status === 'MFA_REQIRED') console.log(answer)", 'TS2367'],
  ["switch (answer.status) { case 'SUCESS': console.log(answer) }", 'TS2678'],
  ['console.log(answer._embedded.factors)', 'TS2339'],
  ["if (answer.status === 'MFA_CHALLENGE') console.log(answer._embedded.factros)", 'TS2339', 'TS2551'],
  ["if (answer.status === 'SUCCESS') console.log(answer._links.next)", 'TS18048'],
  ["if (answer.status === 'MFA_CHALLENGE' && answer.factorResult === 'REJECT') console.log(1)", 'TS2367'],
  ["if (answer.status === 'MFA_CHALLENGE' && answer._links.next?.name === 'pol') console.log(1)", 'TS2367'],
  ["if (factor.factorType === 'SMS') console.log(factor)", 'TS2367'],
  ["if (factor.factorType === 'push') console.log(factor.profile?.phoneNumber)", 'TS2339', 'TS2551'],
  ["if (error.errorCode === 'E0000086') console.log(error)", 'TS2367'],
  ["const unknown: SignInAnswer['status'] = 'MFA_REQIRED'; console.log(unknown)", 'TS2820'],
]

test.each(COMPILERS)(
  'a page that reads the answers correctly compiles, and each mistake is an error: %s',
  (_name, tsc) => {
    const mistakes = `${HEAD}\n${MISTAKES.map(([line]) => line).join('\n')}\n`
    const found = errorsIn(folder, { 'correct.ts': CORRECT, 'mistakes.ts': mistakes }, tsc)
    expect(found.map(([file, line]) => [file, line])).toEqual(MISTAKES.map(([line]) => ['mistakes.ts', line]))
    for (const [index, [, , code]] of found.entries()) expect(MISTAKES[index]?.slice(1)).toContain(code)
  },
)

test('client/src/api-types.ts is up to date; when this is red, run: npm run openapi', () => {
  const { stdout } = spawnSync(process.execPath, [join(TOOLS, 'api-types.mjs')], { encoding: 'utf8' })
  expect(stdout === readFileSync(TYPES, 'utf8')).toBe(true)
})

test('the recommended rules of Redocly find nothing in docs/openapi.json', () => {
  const cli = join(TOOLS, 'node_modules/@redocly/cli/bin/cli.js')
  const { stdout, status } = spawnSync(
    process.execPath,
    [cli, 'lint', '--extends', 'recommended', '--format', 'json', 'docs/openapi.json'],
    {
      cwd: ROOT,
      encoding: 'utf8',
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    },
  )
  expect([status, JSON.parse(stdout).problems]).toEqual([0, []])
})
