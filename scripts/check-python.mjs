/**
 * `npm run python:check`: runs the Python code of docs/applications.md with tokens of this build.
 * `PYTHON` names the interpreter (`python3`); it needs PyJWT and cryptography (Debian: python3-jwt,
 * python3-cryptography).
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createIdentityTokens } from '../dist/forward-auth/identity-token.js'

const ISSUER = 'https://portal.example.com'
const page = readFileSync(new URL('../docs/applications.md', import.meta.url), 'utf8')
const [, example] = /```python\n(.*?)```/s.exec(page)

const session = { userId: '00u1', publicId: 's1', amr: ['pwd'], authenticatedAtMs: Date.now() }
const issuing = (keyByte, now = Date.now) =>
  createIdentityTokens({ masterKeys: [Buffer.alloc(32, keyByte)], issuer: ISSUER, now })
const { keySet, issue } = issuing(1)
const TOKENS = {
  'its own token': [
    issue(session, 'reports', { groups: ['finance'] }),
    /'sub': '00u1'.*'groups': \['finance'\]/,
  ],
  'a token for another application': [issue(session, 'billing'), /InvalidAudienceError/],
  'an expired token': [issuing(1, () => Date.now() - 120_000).issue(session, 'reports'), /ExpiredSignature/],
  'a token of an unknown key': [issuing(2).issue(session, 'reports'), /PyJWKClientError/],
}

const server = createServer((_req, res) => res.end(JSON.stringify(keySet))).listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `"http://127.0.0.1:${server.address().port}/.well-known`
const code = `import sys\n${example.replace('f"{ISSUER}/.well-known', url)}\nprint(verify(sys.argv[1]))`
for (const [name, [token, expected]] of Object.entries(TOKENS)) {
  const output = await new Promise((resolve) => {
    execFile(process.env.PYTHON ?? 'python3', ['-c', code, token], (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    )
  })
  if (!expected.test(output)) throw new Error(`${name}: ${output}`)
  console.log(`ok  ${name}`)
}
server.close()
