import { rootCertificates } from 'node:tls'
import { expect, test } from '@jest/globals'
import { configNotes } from '../../src/config/notes.ts'
import { load, PAM } from './valid-environment.ts'

/** With these, there is nothing to note. */
const QUIET = { LOGIN_DOMAINS: 'example.com', TRUST_PROXY: '10.0.0.0/8', AUTHN_LOCKOUT_ATTEMPTS: '10' }

const ADDRESS = { AUTHN_BASE_URL: 'https://10.1.2.3' }
const ADDRESS_6 = { ...PAM, PAM_BASE_URL: 'https://[fd00::5]:8443/pam' }

const PROXY = 'http://proxy:3128'

test.each<[string, Record<string, string>, string[]]>([
  ['nothing', {}, []],
  ['short and full names are counted separately', { LOGIN_DOMAINS: '' }, ['LOGIN_DOMAINS']],
  ['one limit for a name in two domains', { LOGIN_DOMAINS: 'example.com,corp' }, ['LOGIN_DOMAINS']],
  ['one domain, twice', { LOGIN_DOMAINS: 'example.com,EXAMPLE.com' }, []],
  ['idle times within AAL2', { SESSION_IDLE_MINUTES: '60', SESSION_ABSOLUTE_HOURS: '24' }, []],
  ['an idle time beyond AAL2', { SESSION_IDLE_MINUTES: '61' }, ['SESSION_IDLE_MINUTES']],
  ['an absolute time beyond AAL2', { SESSION_ABSOLUTE_HOURS: '25' }, ['SESSION_ABSOLUTE_HOURS']],
  ['a lockout that is not known', { AUTHN_LOCKOUT_ATTEMPTS: '' }, ['AUTHN_LOCKOUT_ATTEMPTS']],
  ['https without TRUST_PROXY', { TRUST_PROXY: '' }, ['TRUST_PROXY']],
  ['localhost without TRUST_PROXY', { TRUST_PROXY: '', PUBLIC_URL: 'http://localhost:8080' }, []],
  ['applications that open as another user', { SSO_REDIRECTS: 'https://a.b' }, ['OKTA_SIGN_OUT']],
  ['a sign-out at Okta before', { SSO_REDIRECTS: 'https://a.b', OKTA_SIGN_OUT: 'on' }, []],
  ['a sign-out at Okta, without SSO tokens', { OKTA_SIGN_OUT: 'on' }, []],
  ['an admin host', { AUTHN_BASE_URL: 'https://acme-admin.okta.com' }, ['AUTHN_BASE_URL']],
  [
    'an admin host in mixed case',
    { AUTHN_BASE_URL: 'https://Acme-Admin.oktapreview.com' },
    ['AUTHN_BASE_URL'],
  ],
  ['another host with admin in its name', { AUTHN_BASE_URL: 'https://admin.example.com' }, []],
  [
    'a role that PAM does not have',
    { ...PAM, PAM_DIRECTORY: 'role:security_admin,role:securty_admin' },
    ['PAM_DIRECTORY'],
  ],
  ['known PAM roles', { ...PAM, PAM_DIRECTORY: 'role:pam_admin,role:end_user' }, []],
  ['a proxy in lower case', { https_proxy: PROXY }, ['HTTPS_PROXY']],
  ['a proxy for http', { HTTP_PROXY: PROXY }, ['HTTPS_PROXY']],
  ['the proxy, in all forms', { HTTPS_PROXY: PROXY, https_proxy: PROXY, HTTP_PROXY: PROXY }, []],
  ['a range around the address of an upstream', { ...ADDRESS, NO_PROXY: '10.0.0.0/8' }, []],
  ['an IPv6 range around it', { ...ADDRESS_6, NO_PROXY: 'fd00::/8' }, []],
  ['a range around no upstream', { ...ADDRESS, NO_PROXY: '192.168.0.0/16' }, ['NO_PROXY']],
  ['a range for a name, which is not resolved', { NO_PROXY: '10.0.0.0/8' }, ['NO_PROXY']],
  ['hosts, domains, a port and addresses', { NO_PROXY: '.svc,*.local,a.b,c:443,10.0.0.1,::1,[::1]' }, []],
  ['no host at all', { NO_PROXY: '*' }, []],
  ['a wildcard among others', { NO_PROXY: '*,a.b' }, ['NO_PROXY']],
  ['a URL instead of a host', { NO_PROXY: 'https://a.b' }, ['NO_PROXY']],
  ['a wildcard within an address', { NO_PROXY: '10.0.0.*' }, ['NO_PROXY']],
  ['other proxies', { NO_PROXY: 'x', no_proxy: 'x', ALL_PROXY: PROXY, https_proxy: '' }, []],
])('notes: %s', (_, more, names) => {
  const env = { ...QUIET, ...more }
  const notes = configNotes(load(env), env)
  expect(notes.map((note) => note.split(':')[0])).toEqual(names)
  expect(notes.join()).not.toMatch(/marked|:\/\/proxy/)
})

const YEAR_2200 = Date.UTC(2200, 0, 1)
const TODAY = Date.now()
const ROOT = rootCertificates[0] ?? ''
/** All authorities of Node, of which some end in 2040 and none in 2030. */
const ROOTS = rootCertificates.join('\n')

test.each([
  ['valid ones', { UPSTREAM_CA_FILE: ROOTS, REDIS_CA_FILE: ROOTS }, Date.UTC(2020, 0, 1), []],
  ['one', { UPSTREAM_CA_FILE: ROOT }, YEAR_2200, ['UPSTREAM_CA_FILE']],
  ['one of Node', { NODE_EXTRA_CA_CERTS: ROOT }, YEAR_2200, ['NODE_EXTRA_CA_CERTS']],
  ['some of many', { REDIS_CA_FILE: ROOTS }, Date.UTC(2038, 0, 1), ['REDIS_CA_FILE']],
])('notes: certificates that have expired: %s', (_, files: Record<string, string>, nowMs, names) => {
  const env = { ...QUIET, ...files, REDIS_URL: 'rediss://redis:6379' }
  const notes = configNotes(load(env, { readFile: (path) => path, nowMs: TODAY }), env, nowMs)
  expect(notes.map((note) => note.split(':')[0])).toEqual(names)
  if (names.length > 0) expect(notes.join()).toMatch(/has certificates that have expired/)
})
