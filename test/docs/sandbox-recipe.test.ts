import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { parsePamConfig } from 'gatehouse-sandbox/pam/pam-config'
import { loadSandboxConfig } from 'gatehouse-sandbox/sandbox-config'
import { loadConfig } from '../../src/config/load-config.ts'
import { generateKey } from '../../src/config/secret-values.ts'

test('docs/sandbox.md: the example configuration is valid, and the sandbox accepts it', () => {
  const page = readFileSync(new URL('../../docs/sandbox.md', import.meta.url), 'utf8')
  const env = Object.fromEntries(
    [...page.matchAll(/^export ([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  )
  expect(env.SECRET_KEYS).toBe('$(node dist/main.js --new-key)')
  const config = loadConfig({ ...env, SECRET_KEYS: generateKey() })

  const sandbox = loadSandboxConfig()
  const { team, keys } = parsePamConfig(sandbox.pam)
  expect(sandbox.apiTokens).toContain(config.authn.apiToken.value)
  expect(config.pam?.team).toBe(team)
  const { id, secret } = config.pam?.key.value ?? {}
  expect(keys).toContainEqual(expect.objectContaining({ keyId: id, keySecret: secret }))
  const ports = [config.authn.baseUrl, config.pam?.baseUrl].map((url) => new URL(url ?? '').port)
  for (const port of ports) expect(page).toMatch(new RegExp(`\\| ${port} `))
})
