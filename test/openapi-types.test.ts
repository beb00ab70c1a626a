import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'

/** docs/openapi.json with the tools of tools/openapi, and the types that are generated from it. */

const ROOT = join(import.meta.dirname, '..')
const TOOLS = join(ROOT, 'tools/openapi')
const TYPES = join(ROOT, 'client/src/api-types.ts')

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
