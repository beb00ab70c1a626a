/**
 * `npm run setup`: installs the programs that the tests start, if they are missing: Redis, the
 * proxies of `deploy/proxies/` (nginx with its module njs, Caddy, HAProxy, Apache with
 * LuaSocket), Prometheus's promtool, radicale, Chromium, openssl and certutil, with the system's
 * package manager, and the packages of `tools/` from npm. `--check` installs nothing.
 *
 * The tests start these programs themselves, on free ports. The services of some packages must not
 * run: Debian would start three proxies, each on port 80.
 */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { installTools, missingTools } from './install-tools.mjs'

/**
 * The programs, with what is not called like the program: commands, services, and packages by
 * package manager. If distributions use different names, each is tried in turn.
 */
const TOOLS = [
  {
    name: 'redis-server',
    packages: { dnf: ['redis', 'valkey-compat-redis'], apk: ['redis'], brew: ['redis'] },
    service: ['redis-server', 'redis'],
    problem: redisProblem,
  },
  {
    name: 'nginx',
    packages: {
      'apt-get': ['nginx libnginx-mod-http-js'],
      dnf: ['nginx nginx-module-njs', 'nginx'], // the module is in the repository of nginx.org
      apk: ['nginx nginx-mod-http-js'],
    },
    problem: nginxProblem,
  },
  { name: 'caddy' },
  { name: 'haproxy' },
  {
    name: 'apache2',
    commands: ['apache2', 'httpd'],
    packages: {
      'apt-get': ['apache2 lua-socket'],
      dnf: ['httpd mod_ssl mod_lua lua-socket'],
      apk: ['apache2 apache2-ssl apache2-proxy apache2-lua lua5.4-socket'],
      brew: ['httpd'],
    },
    service: ['apache2', 'httpd'],
    problem: apacheProblem,
  },
  {
    name: 'promtool',
    packages: {
      'apt-get': ['prometheus'],
      dnf: ['golang-github-prometheus'],
      apk: ['prometheus'],
      brew: ['prometheus'],
    },
    service: ['prometheus'],
  },
  {
    // an application behind a proxy; Homebrew has no package of it
    name: 'radicale',
    packages: { dnf: ['radicale3', 'radicale'], brew: [] },
  },
  {
    name: 'chromium',
    commands: [
      'chromium',
      'chromium-browser',
      'google-chrome',
      'google-chrome-stable',
      '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
      '/Applications/Chromium.app/Contents/MacOS/Chromium',
    ],
    packages: { 'apt-get': ['chromium', 'chromium-browser'], brew: ['google-chrome'] },
  },
  { name: 'openssl' },
  {
    // for the certificate authority of a test that Chromium trusts
    name: 'certutil',
    packages: {
      'apt-get': ['libnss3-tools'],
      dnf: ['nss-tools'],
      apk: ['nss-tools'],
      brew: ['nss'],
    },
  },
].map(({ name, commands = [name], service = [name], packages = {}, ...tool }) => {
  const named = { 'apt-get': [name], dnf: [name], apk: [name], brew: [name] }
  return { ...tool, name, commands, service, packages: { ...named, ...packages } }
})

const INSTALL = {
  'apt-get': (names) => ['apt-get', 'install', '-y', '--no-install-recommends', ...names],
  dnf: (names) => ['dnf', 'install', '-y', '--setopt=install_weak_deps=False', ...names],
  apk: (names) => ['apk', 'add', '--no-cache', ...names],
  brew: (names) => ['brew', 'install', ...(names.includes('google-chrome') ? ['--cask'] : []), ...names],
}

const POLICY = '/usr/sbin/policy-rc.d'

const NGINX_MODULES = ['/usr/lib/nginx/modules', '/usr/lib64/nginx/modules', '/usr/share/nginx/modules']

const LUA_FOLDERS = ['5.4', '5.3', '5.2', '5.1'].flatMap((version) =>
  ['/usr', '/usr/local', '/opt/homebrew'].map((prefix) => `${prefix}/share/lua/${version}`),
)

process.exitCode = main(process.argv.slice(2))

function main(args) {
  const unknown = args.filter((arg) => arg !== '--check')
  if (unknown.length > 0)
    return fail(`Unknown argument ${unknown.join(' ')}. Known: --check (install nothing)`)

  const missing = report()
  if (args.includes('--check')) {
    if (missing.length > 0) return fail(whatToInstall(missing))
    return missingTools().length === 0 ? 0 : fail('Packages of tools/ are missing. Run: npm run setup')
  }
  if (!installTools()) return fail('Packages could not be installed: npm ci --prefix tools/…')
  if (missing.length === 0) return 0

  const manager = Object.keys(INSTALL).find((command) => find(command) !== undefined)
  if (manager === undefined) return fail(whatToInstall(missing))
  const runner = asAdministrator(manager)
  if (runner === undefined) {
    return fail(`${whatToInstall(missing)}\n${manager} needs root, and sudo requires a password.`)
  }

  if (manager === 'apt-get') run([...runner, 'apt-get', 'update'])
  const allowServices = manager === 'apt-get' ? forbidServices(runner) : () => {}
  try {
    for (const tool of missing) install(tool, manager, runner)
  } finally {
    allowServices()
  }
  console.log('')
  const stillMissing = report()
  return stillMissing.length === 0 ? 0 : fail(whatToInstall(stillMissing))
}

/** Prints whether each program is installed, and returns the missing ones. */
function report() {
  return TOOLS.filter((tool) => {
    const path = tool.commands.map(find).find((found) => found !== undefined)
    const problem = path === undefined ? 'not found' : tool.problem?.(path)
    console.log(`${problem === undefined ? 'ok      ' : 'missing '} ${tool.name}: ${problem ?? path}`)
    return problem !== undefined
  })
}

function install(tool, manager, runner) {
  for (const name of tool.packages[manager]) {
    console.log(`\nInstalling ${name} with ${manager}`)
    if (run([...runner, ...INSTALL[manager](name.split(' '))])) break
  }
  if (!existsSync('/run/systemd/system')) return
  for (const service of tool.service) {
    if (!run(['systemctl', 'cat', service], 'ignore')) continue
    console.log(`Disabling the service ${service}: the tests start their own process`)
    run([...runner, 'systemctl', 'disable', '--now', service])
  }
}

/**
 * Debian packages start their services at installation, unless `policy-rc.d` forbids it
 * (invoke-rc.d(8)). Returns a function that removes the file. An existing `policy-rc.d` is not
 * changed.
 */
function forbidServices(runner) {
  if (existsSync(POLICY)) return () => {}
  run([...runner, 'sh', '-c', `printf '#!/bin/sh\\nexit 101\\n' > ${POLICY} && chmod 755 ${POLICY}`])
  return () => void run([...runner, 'rm', '-f', POLICY])
}

/** The prefix for commands of the package manager (such as sudo); undefined without permission. */
function asAdministrator(manager) {
  const environment = ['env', 'DEBIAN_FRONTEND=noninteractive']
  if (manager === 'brew') return []
  if (process.getuid?.() === 0) return environment
  const maySudo = find('sudo') !== undefined && run(['sudo', '-n', 'true'], 'ignore')
  return maySudo ? ['sudo', '-n', ...environment] : undefined
}

/** The store needs GETDEL, which Redis has since 6.2. */
function redisProblem(path) {
  const output = spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout ?? ''
  const version = /v=(\d+)\.(\d+)/.exec(output)
  const isTooOld = version !== null && Number(version[1]) * 100 + Number(version[2]) < 602
  return isTooOld ? `version ${version[1]}.${version[2]} is too old, 6.2 or later is needed` : undefined
}

/** The example of nginx filters response headers with its module njs. */
function nginxProblem() {
  const isThere = NGINX_MODULES.some((directory) => existsSync(join(directory, 'ngx_http_js_module.so')))
  return isThere ? undefined : 'the module njs (ngx_http_js_module.so) is not found'
}

/** The example of Apache asks Gatehouse with LuaSocket. */
function apacheProblem() {
  const isThere = LUA_FOLDERS.some((directory) => existsSync(join(directory, 'socket.lua')))
  return isThere ? undefined : 'LuaSocket (socket.lua) is not found'
}

/**
 * Finds a program. /sbin folders are not on every user's PATH, but all users may start their
 * programs.
 */
function find(command) {
  if (isAbsolute(command)) return isExecutable(command) ? command : undefined
  const directories = [...(process.env.PATH ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin', '/sbin']
  return directories.map((directory) => join(directory, command)).find(isExecutable)
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false // missing or not executable: try the next
  }
}

function run([command, ...args], stdio = 'inherit') {
  return spawnSync(command, args, { stdio }).status === 0
}

function whatToInstall(missing) {
  const lines = missing.map(({ name, packages }) => {
    const hints = Object.entries(packages).map(([manager, [first = 'no package']]) => `${manager}: ${first}`)
    return `  ${name}  (${hints.join(', ')})`
  })
  return `Please install:\n${lines.join('\n')}`
}

function fail(message) {
  console.error(`\n${message}`)
  return 1
}
