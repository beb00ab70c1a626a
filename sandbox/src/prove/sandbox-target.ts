import { parsePamConfig } from '../pam/pam-config.ts'
import { createSandbox, type Sandbox } from '../sandbox.ts'
import { loadSandboxConfig, type SandboxConfig, type UserConfig } from '../sandbox-config.ts'
import type { Person } from './person.ts'
import type { Target } from './target.ts'

export interface SandboxTarget {
  readonly target: Target
  readonly sandbox: Sandbox
  close(): Promise<void>
}

/** A sandbox in this process, as an org of which everything may be used. */
export async function startSandboxTarget({
  change = () => {},
  now = Date.now,
}: {
  change?: (config: SandboxConfig) => void
  now?: () => number
} = {}): Promise<SandboxTarget> {
  const config = loadSandboxConfig()
  change(config)
  const sandbox = createSandbox({ config, now })
  const { authnUrl, pamUrl, close } = await sandbox.listen()
  const { team, keys, users } = parsePamConfig(config.pam)
  const [key] = keys
  const directoryUser = config.users.find(({ activeDirectory }) => activeDirectory !== undefined)
  const [apiToken] = config.adminTokens
  if (apiToken === undefined || key === undefined) throw new Error('the sandbox has no tokens')
  return {
    sandbox,
    close,
    target: {
      orgUrl: authnUrl,
      apiToken,
      brokerToken: sandbox.apiToken,
      pam: { url: pamUrl, team, keyId: key.keyId, keySecret: key.keySecret, user: Object.keys(users)[0] },
      phone: '+15550100123',
      mailDomain: 'proof.example.test',
      portalOrigin: 'https://portal.example.test',
      eventHook: { url: undefined, port: 0, waitMs: 2000 },
      person: createSandboxPerson(sandbox, directoryUser),
      recoveryAnswerMs: 0,
      callsPerMinute: undefined,
      phoneGapMs: 0,
      pollMs: 0,
      settleMs: 0,
    },
  }
}

/** Nothing arrives later. */
function createSandboxPerson(
  { outbox, phone, settings }: Sandbox,
  directoryUser: UserConfig | undefined,
): Person {
  const read = new Set<object>()
  return {
    inbox: {
      async next(login, kind) {
        const message = outbox.messages.find(
          (each) => each.login === login && each.kind === kind && !read.has(each),
        )
        if (message !== undefined) read.add(message)
        return message
      },
    },
    async scan(login, pictureUrl) {
      const picture = await fetch(pictureUrl)
      await phone.scan(login, Buffer.from(await picture.arrayBuffer()))
      return true
    },
    async approve(login) {
      phone.answer(login, 'approve')
    },
    directoryUser: async () =>
      directoryUser && { login: directoryUser.login, password: directoryUser.password ?? '' },
    async setAgents(state) {
      settings.directoryAgent = state === 'stopped' ? 'disconnected' : 'connected'
      return true
    },
  }
}
