import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import type { Gatehouse } from './gatehouse.ts'
import { forgetTraffic, processOutputs, trafficOf } from './recorded-traffic.ts'
import { startMonitor } from './redis-monitor.ts'
import type { RedisServer } from './redis-server.ts'
import { createSecretScanner, withoutNumbers } from './secret-scanner.ts'

/**
 * Looks for secrets wherever none may stand, when a journey is over: every token, key, password, code and answer that
 * there was, in every log line and metric, in all that was ever written to Redis, and in all that browsers got; and
 * people's names in the first three.
 */
export interface HarnessSecrets {
  /** Throws, and says what was found where, unless all is clean. */
  check(brokers: readonly Gatehouse[]): Promise<void>
  stop(): void
}

export interface HarnessSecretsOptions {
  readonly sandbox: Sandbox
  readonly redis: RedisServer
  readonly authnUrl: string
  /** The PAM keys, ids and secrets. */
  readonly keys: readonly string[]
}

export async function watchSecrets(parts: HarnessSecretsOptions): Promise<HarnessSecrets> {
  const { sandbox, redis, authnUrl, keys } = parts
  const store = await watchStore(redis)
  const secrets = new Set<string>(keys)
  /** May be shown to a browser, but never written down. */
  const unwritten = new Set<string>()

  /** Before the sandbox forgets them, and at the end. */
  const gather = () => {
    for (const token of [...sandbox.tokensIssued(), ...sandbox.apiTokens]) secrets.add(token)
    for (const token of sandbox.pamControl.bearerTokens()) secrets.add(token)
    for (const { code, token } of sandbox.outbox.messages)
      for (const one of [code, token]) if (one !== undefined) secrets.add(one)
    for (const person of sandbox.users()) {
      const [localPart = ''] = person.login.split('@')
      const { firstName, lastName } = person.config
      for (const one of [person.login, localPart, firstName, lastName]) unwritten.add(one)
      for (const one of namedIn(person, SHOWN)) unwritten.add(one)
      for (const one of namedIn(person, SECRETS)) secrets.add(one)
    }
  }
  gather()
  for (const forgetful of [sandbox, sandbox.pamControl]) {
    const { reset } = forgetful
    forgetful.reset = () => {
      gather()
      reset()
    }
  }

  return {
    async check(brokers) {
      gather()
      const told = await Promise.all(
        brokers.flatMap(({ opsUrl }) => OPS_PATHS.map((path) => textAt(opsUrl + path))),
      )
      const logs = [...brokers.map((broker) => broker.logText()), ...processOutputs()]
      const written = [...logs, ...told]
      const answers = brokers.flatMap(({ url }) => {
        const heard = trafficOf(url)
        for (const secret of heard.secrets) secrets.add(secret)
        for (const name of heard.people) unwritten.add(name)
        forgetTraffic(url)
        return heard.received
      })
      expectNone('an answer', withoutHandedOver(answers.join('\n'), authnUrl), [...secrets])
      expectNone('a log line, metric or health answer', written.join('\n'), [...secrets, ...unwritten])
      expectNone('Redis', store.text(), [...secrets, ...unwritten])
    },
    stop: store.stop,
  }
}

function expectNone(where: string, text: string, secrets: readonly string[]): void {
  const marks = createSecretScanner()
  marks.add(...secrets)
  const [first, ...more] = marks.foundIn(withoutNumbers(text))
  if (first === undefined) return
  const at = Math.max(0, text.indexOf(first))
  const around = text.slice(Math.max(0, at - 200), at + first.length + 100)
  throw new Error(`a secret stands in ${where} (${more.length} more): ${JSON.stringify(around)}`)
}

/** Redirects of the protocol bear the real token, to the upstream itself (DESIGN §2). */
function withoutHandedOver(answers: string, authnUrl: string): string {
  return answers
    .split('\n')
    .filter((line) => !line.startsWith(`location: ${authnUrl}/`))
    .join('\n')
}

const OPS_PATHS = ['/metrics', '/livez', '/readyz']

async function textAt(url: string): Promise<string> {
  const answer = await fetch(url).catch(() => undefined) // one that was stopped on the way says nothing more
  return answer === undefined ? '' : answer.text()
}

const SECRETS = new Set(['password', 'answer'])
/** A browser sees these: whose they are, and the shared secret of an app while it is enrolled. */
const SHOWN = new Set(['phoneNumber', 'recoveryPhone', 'secret'])

/** Every text of one of these names, at any depth of a person and their factors. */
function namedIn(value: unknown, names: ReadonlySet<string>): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) =>
    typeof member !== 'string' ? namedIn(member, names) : names.has(name) ? [member] : [],
  )
}

/** What follows the key is a time. */
const EXPIRIES = new Set(['expire', 'pexpire'])

/** Every command that the server was given, as long as it ran. */
async function watchStore(redis: RedisServer) {
  const lines: string[] = []
  const client = redis.client()
  const monitor = await startMonitor(client)
  monitor.on('error', () => {}) // a server that is away is often what the journey is about
  monitor.on('monitor', (_time: string, [command = '', key = '', value = '', ...rest]: string[]) => {
    const others = rest.filter((one) => !/^\d+$/.test(one)) // times to live, counts
    lines.push([command, key, EXPIRIES.has(command) ? '' : value, ...others].join(' '))
  })
  client.disconnect()
  return { text: () => lines.join('\n'), stop: () => monitor.disconnect() }
}
