import { expect, test } from '@jest/globals'
import { isSecret, VARIABLE_NAMES } from '../../src/config/variables.ts'
import { longestStopSeconds, readProject } from './read-deploy.ts'

/** Nothing here runs systemd: the unit is compared with the image and the variables. */
const unit = readProject('deploy/systemd/gatehouse@.service')
const valuesOf = (setting: string) =>
  [...unit.matchAll(new RegExp(`^${setting}=(.*)$`, 'gm'))].map(([, value = '']) => value)

test('it runs the command of the image', () => {
  const [, command = '[]'] = /^CMD (\[.*\])$/m.exec(readProject('Dockerfile')) ?? []
  const [node, ...flags] = JSON.parse(command) as string[]
  expect(valuesOf('ExecStart')).toEqual([`/usr/bin/${node} ${flags.join(' ')}`])
})

test('each secret is a credential, whose file a variable names', () => {
  const credentials = valuesOf('LoadCredential').map((value) => value.split(':')[0] ?? '')
  const files = valuesOf('Environment')
    .map((value) => value.split('='))
    .filter(([name = '']) => name.endsWith('_FILE'))
  expect(files.map(([, path]) => path)).toEqual(credentials.map((name) => `%d/${name}`))
  const secrets: readonly string[] = VARIABLE_NAMES.filter(isSecret).map((name) => `${name}_FILE`)
  for (const [name] of files) expect(secrets).toContain(name)
  for (const required of ['AUTHN_API_TOKEN_FILE', 'REDIS_URL_FILE', 'SECRET_KEYS_FILE'])
    expect(files.map(([name]) => name)).toContain(required)
})

test('a stop has time to finish, and a configuration that is not valid is not started again', () => {
  expect(Number(valuesOf('TimeoutStopSec')[0])).toBeGreaterThanOrEqual(longestStopSeconds())
  expect(valuesOf('RestartPreventExitStatus')).toEqual(['64 78'])
  expect(valuesOf('MemoryMax')).toEqual(['512M'])
})
