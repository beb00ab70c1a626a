import { expect, test } from '@jest/globals'
import { misspelledVariables } from '../../src/config/misspelled-variables.ts'

const meant = (key: string, name: string) => [`${key}: is unknown; did you mean ${name}?`]

test.each([
  ['a letter is missing', 'LOG_LEVE', 'LOG_LEVEL'],
  ['a letter too many', 'LOG_LEVELS', 'LOG_LEVEL'],
  ['another letter', 'LOG_LEVEK', 'LOG_LEVEL'],
  ['two adjacent letters are swapped', 'LOG_LEVLE', 'LOG_LEVEL'],
  ['the shortest name that is compared', 'STEP_U', 'STEP_UP'],
  ['a long name, two letters too many', 'TRUST_PROXYXX', 'TRUST_PROXY'],
  ['a long name, a swap and another letter', 'TRSUT_PROXI', 'TRUST_PROXY'],
  ['with the product as a prefix', 'GATEHOUSE_LOG_LEVEL', 'LOG_LEVEL'],
  ['in lower case', 'log_level', 'LOG_LEVEL'],
  ['in mixed case', 'Https_Proxy', 'HTTPS_PROXY'],
  ['a letter is missing, with the product as a prefix', 'GATEHOUSE_LOG_LEVE', 'LOG_LEVEL'],
  ['in lower case, a letter too many', 'log_levels', 'LOG_LEVEL'],
  ['the file of a secret', 'OPS_TOKENFILE', 'OPS_TOKEN_FILE'],
])('%s: %s is reported as a misspelled %s', (_, key, name) => {
  expect(misspelledVariables({ [key]: 'x' })).toEqual(meant(key, name))
})

test.each([
  ['a short name, two letters', 'LOG_LEVESS'],
  ['a short name, two other letters', 'LOG_LEXXL'],
  ['a long name, three letters', 'TRUST_PABCY'],
  ['a long name, three letters too many', 'TRUST_PROXYXXX'],
  ['two distant letters are swapped', 'LOG_LLVEE'],
  ['close to a name that is too short', 'PROT'],
  ['the product’s name inside', 'X_GATEHOUSE_LOG_LEVEL'],
  ['what Kubernetes sets for a service called gatehouse', 'GATEHOUSE_PORT'],
  ...['HTTP_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'].map((name) => [
    'a proxy that other programs read',
    name,
  ]),
  ...['HOSTNAME', 'REDIS_PORT', 'REDIS_SERVICE_HOST', 'SESSION_MANAGER', 'NODE_VERSION'].map((name) => [
    'a variable of the platform',
    name,
  ]),
  ['the port of a Service called gatehouse-ops', 'GATEHOUSE_OPS_PORT'],
  ['the file of a short name, which may be another program’s', 'HOST_FILE'],
  ['the file of a file', 'LOG_LEVEL_FILE_OF'],
  ['ours', 'LOG_LEVEL'],
  ['a secret from a file', 'OPS_TOKEN_FILE'],
  ['a variable that names a file', 'REDIS_CA_FILE'],
])('%s: %s is not reported as misspelled', (_, key) => {
  expect(misspelledVariables({ [key]: 'x' })).toEqual([])
})

test('a misspelled name is ignored if it is empty, or if the correct name is set too', () => {
  expect(misspelledVariables({ LOG_LEVE: ' ', TRUST_PROX: undefined })).toEqual([])
  expect(misspelledVariables({ LOG_LEVE: 'x', LOG_LEVEL: 'info' })).toEqual([])
  expect(misspelledVariables({ LOG_LEVE: 'x', LOG_LEVEL: ' ' })).toEqual(meant('LOG_LEVE', 'LOG_LEVEL'))
})

test('every misspelled name is reported', () => {
  expect(misspelledVariables({ LOG_LEVE: 'x', SECRET_KEY: 'x' })).toEqual([
    ...meant('LOG_LEVE', 'LOG_LEVEL'),
    ...meant('SECRET_KEY', 'SECRET_KEYS'),
  ])
})

const NO_FILE = 'is not read: only a secret can come from a file. Set'

test.each([
  ['PUBLIC_URL_FILE', `PUBLIC_URL_FILE: ${NO_FILE} PUBLIC_URL`],
  ['HTTPS_PROXY_FILE', `HTTPS_PROXY_FILE: ${NO_FILE} HTTPS_PROXY`],
  ['LOG_LEVEL_FILE', `LOG_LEVEL_FILE: ${NO_FILE} LOG_LEVEL`],
])('%s, the file of a variable that is no secret, is named unless the variable is set', (key, problem) => {
  expect(misspelledVariables({ [key]: '/run/secrets/x' })).toEqual([problem])
  expect(misspelledVariables({ [key]: '/run/secrets/x', [key.replace('_FILE', '')]: 'x' })).toEqual([])
})

test.each([
  ['API_TOKEN', 'AUTHN_API_TOKEN'],
  ['OKTA_API_TOKEN', 'AUTHN_API_TOKEN'],
  ['OKTA_BASE_URL', 'AUTHN_BASE_URL'],
  ['OKTA_ORG_URL', 'AUTHN_BASE_URL'],
])('%s, a name of other programs, is another name of %s', (key, name) => {
  expect(misspelledVariables({ [key]: 'x' })).toEqual(meant(key, name))
  expect(misspelledVariables({ [key]: 'x', [name]: 'x' })).toEqual([])
})

test('API_TOKEN is something else, and no misspelled OPS_TOKEN, if the token of the org comes from a file', () => {
  expect(misspelledVariables({ API_TOKEN: 'x', AUTHN_API_TOKEN_FILE: '/run/secrets/token' })).toEqual([])
})

const PASSWORD = 'is not read: write the password into REDIS_URL, percent-encoded'

test.each([
  ['a server without a password', { REDIS_URL: 'redis://redis:6379/0' }, true],
  ['a user without a password', { REDIS_URL: 'redis+sentinel://a:26379,b:26379/0?name=x' }, true],
  ['no REDIS_URL', {}, true],
  ['a password', { REDIS_URL: 'redis://:plainly-fake@redis:6379/0' }, false],
  ['a file, which may have the password', { REDIS_URL_FILE: '/run/secrets/redis-url' }, false],
  ['the embedded store', { REDIS_URL: 'memory:' }, false],
])('REDIS_PASSWORD with %s is named: %j %s', (_, more, isNamed) => {
  for (const name of ['REDIS_PASSWORD', 'REDIS_PASSWORD_FILE', 'REDIS_AUTH'])
    expect(misspelledVariables({ [name]: 'plainly-fake', ...more })).toEqual(
      isNamed ? [`${name}: ${PASSWORD}`] : [],
    )
})
