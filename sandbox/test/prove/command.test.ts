import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from '@jest/globals'
import { scanFolder, secretsIn } from './folder-secrets.ts'

/** The built programs, as a new user runs them: the org is another process, at another address. */
const programOf = (name: string) => fileURLToPath(new URL(`../../dist/${name}/main.js`, import.meta.url))
const TOKEN = 'admin-token-of-another-org-not-a-secret'

const processes: ChildProcess[] = []
const folders: string[] = []
afterEach(async () => {
  for (const each of processes.splice(0)) {
    if (each.exitCode !== null || each.signalCode !== null) continue
    each.kill('SIGTERM')
    await once(each, 'exit')
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function start(name: string, args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [programOf(name), ...args], { env: { PATH: '', ...env } })
  processes.push(child)
  const output = { out: '', err: '' }
  child.stdout.on('data', (data) => {
    output.out += data
  })
  child.stderr.on('data', (data) => {
    output.err += data
  })
  const ended = once(child, 'close').then(() => ({ code: child.exitCode, ...output }))
  const line = async (pattern: RegExp) => {
    while (!pattern.test(output.out)) await Promise.race([once(child.stdout, 'data'), ended])
    return output.out
  }
  return { child, ended, line }
}

/** A sandbox with an administrator's token of its own. */
async function startOrg(folder: string): Promise<string> {
  const config = JSON.parse(readFileSync(new URL('../../sandbox.json', import.meta.url), 'utf8'))
  const file = join(folder, 'org.json')
  writeFileSync(file, JSON.stringify({ ...config, adminTokens: [TOKEN] }))
  const org = start('package', ['--json', '--port', '0'], { SANDBOX_CONFIG: file })
  return JSON.parse((await org.line(/\n/)).split('\n')[0] ?? '').authnUrl
}

test('a run against an org in another process: proved, interrupted, and cleaned up', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-proof-'))
  folders.push(folder)
  const url = await startOrg(folder)
  const output = join(folder, 'proof')
  const env = { PROVE_ORG_URL: url, PROVE_API_TOKEN: TOKEN }
  const proveIt = (...args: string[]) =>
    start('prove', ['--this-is-a-test-org', '--output', output, ...args], env)
  const loginsAtOrg = async () => {
    const users = [await (await fetch(`${url}/sandbox/users`)).json()].flat()
    return users
      .map((user) => String(Object(user).login))
      .filter((login) => login.startsWith('gatehouse-proof-'))
  }

  const policiesAtOrg = async () => {
    const headers = { authorization: `SSWS ${TOKEN}` }
    const policies = await (await fetch(`${url}/api/v1/policies?type=PASSWORD`, { headers })).json()
    return [policies].flat().map((policy) => String(Object(policy).name))
  }

  const proved = await proveIt('--only', 'R2', '--only', 'A2', '--only', 'S9').ended
  expect(proved).toMatchObject({ code: 0, err: '' })
  expect(proved.out).toMatch(/^proved +A2\.portal .*\n/m)
  expect(proved.out).toContain('0 disproved, 0 unclear, 6 proved, 0 not testable here')
  expect(JSON.parse(readFileSync(join(output, 'report.json'), 'utf8')).checks).toHaveLength(6)
  expect(existsSync(join(output, 'created.jsonl'))).toBe(false)
  expect(await loginsAtOrg()).toEqual([])

  const requests = await (await fetch(`${url}/sandbox/requests`)).json()
  const { files, found } = scanFolder(output, [TOKEN, url, new URL(url).host, ...secretsIn(requests)])
  expect(files.length).toBeGreaterThan(10)
  expect(found).toEqual([])

  const refused = await start('prove', ['--this-is-a-test-org', '--output', output], {
    ...env,
    PROVE_API_TOKEN: 'unknown',
  }).ended
  expect(refused.code).toBe(2)
  expect(refused.out).toContain('The run ended early: the org refuses PROVE_API_TOKEN: 401 E0000011')

  const pam = {
    PROVE_PAM_BASE_URL: 'https://pam.example',
    PROVE_PAM_KEY_ID: 'id',
    PROVE_PAM_KEY_SECRET: 'key',
  }
  const invalid = await start('prove', ['--this-is-a-test-org', '--output', output], {
    ...env,
    ...pam,
    PROVE_PAM_TEAM: 'not a team!',
  }).ended
  expect(invalid).toMatchObject({ code: 2, out: expect.stringContaining('PAM_TEAM: must be a team name') })

  const interrupted = proveIt()
  await interrupted.line(/R6/)
  interrupted.child.kill('SIGINT')
  expect(await interrupted.ended).toMatchObject({ code: 130 })
  expect(await loginsAtOrg()).toEqual([])

  const killed = proveIt('--only', 'S7')
  await killed.line(/S7\.age/)
  killed.child.kill('SIGKILL')
  await killed.ended
  const left = await loginsAtOrg()
  expect(left.length).toBeGreaterThan(0)
  expect(await policiesAtOrg()).toHaveLength(2)
  const next = await proveIt('--only', 'R2').ended
  expect(next.code).toBe(0)
  expect(next.out).toContain(`An earlier run has left something, so run --clean: ${left[0]}`)
  expect(await loginsAtOrg()).toEqual(left)
  expect(await proveIt('--clean').ended).toMatchObject({ code: 0 })
  expect(await loginsAtOrg()).toEqual([])
  expect(await policiesAtOrg()).toEqual(['Default Policy'])
  expect(existsSync(join(output, 'created.jsonl'))).toBe(false)
})

test('without an org nothing is run, and every problem is named', async () => {
  const { code, out, err } = await start('prove', []).ended
  expect({ code, out }).toEqual({ code: 64, out: '' })
  expect(err).toMatch(/--this-is-a-test-org.*\nPROVE_ORG_URL.*\nPROVE_API_TOKEN/)
})
