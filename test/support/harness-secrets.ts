import type { Sandbox } from 'gatehouse-sandbox/sandbox'
import type { Gatehouse } from './gatehouse.ts'
import { forgetTraffic, processOutputs, trafficOf } from './recorded-traffic.ts'
import { startMonitor } from './redis-monitor.ts'
import type { RedisServer } from './redis-server.ts'
import { createSecretScanner, withoutNumbers } from './secret-scanner.ts'
import { checkSpans, type TraceCollector } from './trace-collector.ts'

/**
 * Searches for secrets at the end of a journey: every token, key, password, code and security
 * answer, in log lines, metrics, all data written to Redis and all data that browsers received.
 * User names are searched for in logs, metrics and Redis.
 */
export interface HarnessSecrets {
  /** Throws if a secret is found, and says where. */
  check(brokers: readonly Gatehouse[]): Promise<void>
  /** The same for exported traces, which are complete when the brokers have stopped. */
  checkTraces(collector: TraceCollector): void
  stop(): void
}

export interface HarnessSecretsOptions {
  readonly sandbox: Sandbox
  readonly redis: RedisServer
  readonly authnUrl: string
  /** The PAM keys' ids and secrets. */
  readonly keys: readonly string[]
}

export async function watchSecrets(parts: HarnessSecretsOptions): Promise<HarnessSecrets> {
  const { sandbox, redis, authnUrl, keys } = parts
  const store = await watchStore(redis)
  const secrets = new Set<string>(keys)
  /** Allowed in responses to browsers, but not in logs, metrics or Redis. */
  const unwritten = new Set<string>()

  /** Call it before the sandbox is reset, and at the end. */
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
        const traffic = trafficOf(url)
        for (const secret of traffic.secrets) secrets.add(secret)
        for (const name of traffic.people) unwritten.add(name)
        forgetTraffic(url)
        return traffic.received
      })
      expectNone('an answer', withoutRedirectsToOkta(answers.join('\n'), authnUrl), [...secrets])
      expectNone('a log line, metric or health answer', written.join('\n'), [...secrets, ...unwritten])
      expectNone('Redis', store.text(), [...secrets, ...unwritten])
    },
    checkTraces(collector) {
      expectNone('a trace', collector.text(), [...secrets, ...unwritten])
      checkSpans(collector.spans())
    },
    stop: store.stop,
  }
}

function expectNone(where: string, text: string, secrets: readonly string[]): void {
  const scanner = createSecretScanner()
  scanner.add(...secrets)
  const [first, ...more] = scanner.findIn(withoutNumbers(text))
  if (first === undefined) return
  const at = Math.max(0, text.indexOf(first))
  const around = text.slice(Math.max(0, at - 200), at + first.length + 100)
  throw new Error(`found a secret in ${where} (${more.length} more): ${JSON.stringify(around)}`)
}

/** The protocol's redirects to Okta carry the real token (docs/security.md#remaining-risks). */
function withoutRedirectsToOkta(answers: string, authnUrl: string): string {
  return answers
    .split('\n')
    .filter((line) => !line.startsWith(`location: ${authnUrl}/`))
    .join('\n')
}

const OPS_PATHS = ['/metrics', '/livez', '/readyz']

async function textAt(url: string): Promise<string> {
  const answer = await fetch(url).catch(() => undefined) // the broker may have been stopped
  return answer === undefined ? '' : answer.text()
}

const SECRETS = new Set(['password', 'answer'])
/**
 * Secrets that browsers may see: user names, and an authenticator app's shared secret during
 * enrollment.
 */
const SHOWN = new Set(['phoneNumber', 'recoveryPhone', 'secret'])

/** The string values with one of these names, at any depth of a user and their factors. */
function namedIn(value: unknown, names: ReadonlySet<string>): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) =>
    typeof member !== 'string' ? namedIn(member, names) : names.has(name) ? [member] : [],
  )
}

/** Commands whose argument after the key is a time. */
const EXPIRIES = new Set(['expire', 'pexpire'])

/** Records every command that the Redis server receives. */
async function watchStore(redis: RedisServer) {
  const lines: string[] = []
  const client = redis.client()
  const monitor = await startMonitor(client)
  monitor.on('error', () => {}) // many journeys stop the server on purpose
  monitor.on('monitor', (_time: string, [command = '', key = '', value = '', ...rest]: string[]) => {
    const others = rest.filter((one) => !/^\d+$/.test(one)) // times to live, counts
    lines.push([command, key, EXPIRIES.has(command) ? '' : value, ...others].join(' '))
  })
  client.disconnect()
  return { text: () => lines.join('\n'), stop: () => monitor.disconnect() }
}
