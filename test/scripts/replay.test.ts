import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from '@jest/globals'
import { replayAnswer } from '../../scripts/replay-answers.ts'
import { replayFolders } from '../../scripts/replay-folders.ts'

const ORG = 'https://{yourOrg}'
const TOKEN = '00stateTokenOfTheUpstream_abcdefghijklmnop'
const POST = { hints: { allow: ['POST'] } }

const USER = `${ORG}/api/v1/users/00u1/factors/opf1`
const SEND = [{ name: 'sms', href: `${USER}/lifecycle/activate/sms`, ...POST }]
const QR_CODE = { href: `${USER}/qr/00pictureTokenOfTheUpstream` }
const VALID_RESPONSE = {
  stateToken: TOKEN,
  expiresAt: '2026-06-01T10:05:00.000Z',
  status: 'MFA_ENROLL_ACTIVATE',
  _embedded: {
    user: { id: '00u1', profile: { login: 'amelia@example.test' } },
    factor: {
      id: 'opf1',
      factorType: 'push',
      _embedded: { activation: { _links: { qrcode: QR_CODE, send: SEND } } },
    },
    target: { _links: { logo: { href: `${ORG}/assets/logo.png`, type: 'image/png' } } },
  },
  _links: {
    next: { name: 'poll', href: `${ORG}/api/v1/authn/factors/opf1/lifecycle/activate/poll`, ...POST },
    cancel: { href: 'https://dev-1.example.test/api/v1/authn/cancel', ...POST },
    third: { href: `https://third.example/?state=${TOKEN}` },
  },
}

describe('one recorded response', () => {
  test('ok without findings; placeholder hosts and hosts of steps are the upstream', () => {
    expect(replayAnswer(JSON.stringify(VALID_RESPONSE))).toEqual({
      kind: 'ok',
      findings: [],
      notes: ['1 token(s) removed from links', 'MFA_ENROLL_ACTIVATE'],
    })
  })

  test.each(['https://{yourOktaDomain}', 'https://{org}.example.com', '{{url}}', 'http://{a b}'])(
    'a placeholder is the upstream: %s',
    (host) => {
      const enroll = (path: string) =>
        JSON.stringify({
          status: 'MFA_ENROLL',
          _links: { skip: { href: `${host}/api/v1/authn/${path}`, ...POST } },
        })
      expect(replayAnswer(enroll('skip'))).toMatchObject({ kind: 'ok' })
      const notes = ['POST /api/v1/authn/other/x: not a route of the broker']
      expect(replayAnswer(enroll('other/x'))).toMatchObject({ notes: expect.arrayContaining(notes) })
    },
  )

  test('a token that only the token filter removes is a finding', () => {
    const verdict = replayAnswer(JSON.stringify({ ...VALID_RESPONSE, note: `your token is ${TOKEN}` }))
    expect(verdict).toMatchObject({
      kind: 'findings',
      findings: ['the token filter had to remove 1 token(s)', '.note: string changed'],
    })
  })

  test('invalid JSON and values that are not objects are reported', () => {
    expect(replayAnswer('{"status": ...}')).toEqual({ kind: 'not JSON' })
    expect(replayAnswer('')).toEqual({ kind: 'not JSON' })
    for (const text of ['[]', 'null', '17', '"text"'])
      expect(replayAnswer(text)).toEqual({ kind: 'not an object' })
  })
})

describe('npm run replay', () => {
  const folder = mkdtempSync(join(tmpdir(), 'replay-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  const write = (path: string, text: string) => {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }

  test('prints a line per file and the counts, and fails only on findings', async () => {
    write('sound/one.json', JSON.stringify(VALID_RESPONSE))
    write('sound/deep/list.json', '[]')
    write('sound/deep/page.json', '<html>')
    write('sound/readme.txt', 'not looked at')
    write('unsound/note.json', JSON.stringify({ ...VALID_RESPONSE, note: TOKEN }))
    mkdirSync(join(folder, 'empty'))

    const sound = replayFolders([join(folder, 'sound')])
    expect(sound.code).toBe(0)
    expect(sound.out).toMatch(/^ok +\S+one\.json/m)
    expect(sound.out).toMatch(/^not an object +\S+list\.json$/m)
    expect(sound.out).toMatch(/^not JSON +\S+page\.json$/m)
    expect(sound.out).toContain('3 files: 1 ok, 0 findings, 1 not JSON, 1 not an object')

    const unsound = await npmRunReplay(...['sound', 'unsound', 'nowhere'].map((name) => join(folder, name)))
    expect(unsound.code).toBe(1)
    expect(unsound.out).toMatch(/^findings +\S+note\.json.*\n {4}the token filter had to remove 1 token/m)
    expect(unsound.out).toContain('4 files: 1 ok, 1 findings, 1 not JSON, 1 not an object')
    expect(unsound.out).not.toContain(TOKEN)
    expect(unsound.err).toContain('nowhere: ENOENT')

    expect(replayFolders([join(folder, 'empty')])).toMatchObject({ code: 2, out: '' })
    const help = replayFolders([])
    expect(help).toMatchObject({ code: 2, out: '' })
    expect(help.err).toContain('npm run replay -- DIR')
  })
})

function npmRunReplay(...folders: string[]): Promise<{ code: number; out: string; err: string }> {
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  return new Promise((resolve) => {
    execFile('npm', ['run', '--silent', 'replay', '--', ...folders], { cwd }, (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err })
    })
  })
}
