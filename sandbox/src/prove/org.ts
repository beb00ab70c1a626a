import type { Call, Caller, Reply } from './caller.ts'
import { outcomeOf, RateLimitReached } from './caller.ts'
import { NotTestable } from './check.ts'
import { isRecord, type Json, listOf, textAt } from './json.ts'

/** All that a run creates has a name that begins so. */
export const NAME_PREFIX = 'gatehouse-proof-'

export interface ProofUser {
  readonly id: string
  readonly login: string
  readonly email: string
  readonly secondEmail: string
  readonly password: string
  readonly question: string
  readonly answer: string
}

export interface NewUser {
  /** Default: true. */
  readonly activate?: boolean
  /** Default: true. */
  readonly hasPassword?: boolean
  readonly phone?: string | undefined
}

export type PromptMode = 'ALWAYS' | 'SESSION' | 'DEVICE'

/** What is created is written down before it exists, so that nothing is left behind. */
export interface Journal {
  add(kind: 'user' | 'group' | 'policy', name: string): void
}

export interface OrgOptions {
  readonly call: Caller
  readonly apiToken: string
  readonly run: string
  readonly mailDomain: string
  readonly journal: Journal
  readonly password: () => string
  readonly now: () => number
  readonly pause: (ms: number) => Promise<void>
  /** How long the System Log may lag behind. 0: not at all. */
  readonly settleMs: number
}

export type Org = ReturnType<typeof createOrgClient>

/**
 * The org's management API, for users, groups and policies of the run only: any other user is
 * refused before anything is sent.
 */
export function createOrgClient(options: OrgOptions) {
  const { call, apiToken, run, mailDomain, journal, now, pause, settleMs } = options
  const own = {
    users: new Map<string, string>(),
    groups: new Map<string, string>(),
    policies: new Map<string, string>(),
  }
  /** What may exist, as its creation was sent, but no answer has come. */
  const pending = new Set<string>()
  const groupsByPrompt = new Map<PromptMode, Promise<string>>()
  let count = 0

  const send = (request: Call) =>
    call({ ...request, headers: { ...request.headers, authorization: `SSWS ${apiToken}` } })

  async function manage(request: Call): Promise<Reply> {
    const reply = await send(request)
    if (reply.status >= 400)
      throw new NotTestable(
        `the org refuses ${request.method} ${request.path.replace(/\?.*/, '').replaceAll(/\/[0-9a-zA-Z]{20}\b/g, '/{id}')}: ${outcomeOf(reply)}`,
      )
    return reply
  }

  function requireOwn(id: string): string {
    if (!own.users.has(id)) throw new Error('not a user of this run')
    return id
  }

  const userPath = ({ id }: Pick<ProofUser, 'id'>) => `/api/v1/users/${requireOwn(id)}`
  const nextName = () => {
    count += 1
    return `${NAME_PREFIX}${run}-${count}`
  }

  function announce(kind: Parameters<Journal['add']>[0], name: string): void {
    journal.add(kind, name)
    pending.add(name)
  }

  function created(kind: keyof typeof own, id: string, name: string): void {
    own[kind].set(id, name)
    pending.delete(name)
  }

  async function createUser({
    activate = true,
    hasPassword = true,
    phone,
  }: NewUser = {}): Promise<ProofUser> {
    const name = nextName()
    const login = `${name}@${mailDomain}`
    const secondEmail = `${name}-second@${mailDomain}`
    const password = options.password()
    const answer = options.password()
    const question = 'What is the name of this test?'
    announce('user', login)
    const { body } = await manage({
      method: 'POST',
      path: `/api/v1/users?activate=${activate}`,
      body: {
        profile: {
          firstName: 'Gatehouse',
          lastName: 'Proof',
          login,
          email: login,
          secondEmail,
          ...(phone === undefined ? {} : { mobilePhone: phone }),
        },
        credentials: {
          ...(hasPassword ? { password: { value: password } } : {}),
          recovery_question: { question, answer },
        },
      },
    })
    const id = textAt(body, 'id')
    created('users', id, login)
    return { id, login, email: login, secondEmail, password, question, answer }
  }

  /** A group whose sign-on policy asks for a factor. Each mode has one. */
  async function createPromptGroup(mode: PromptMode): Promise<string> {
    const name = nextName()
    announce('group', name)
    const group = await manage({ method: 'POST', path: '/api/v1/groups', body: { profile: { name } } })
    const groupId = textAt(group.body, 'id')
    created('groups', groupId, name)
    announce('policy', name)
    const people = { groups: { include: [groupId] } }
    const policy = await manage({
      method: 'POST',
      path: '/api/v1/policies',
      body: { type: 'OKTA_SIGN_ON', name, status: 'ACTIVE', conditions: { people } },
    })
    const policyId = textAt(policy.body, 'id')
    created('policies', policyId, name)
    const signon = {
      access: 'ALLOW',
      requireFactor: true,
      factorPromptMode: mode,
      rememberDeviceByDefault: false,
      ...(mode === 'ALWAYS' ? {} : { factorLifetime: 15 }),
      session: { usePersistentCookie: false, maxSessionIdleMinutes: 120, maxSessionLifetimeMinutes: 0 },
    }
    await manage({
      method: 'POST',
      path: `/api/v1/policies/${policyId}/rules`,
      body: {
        type: 'SIGN_ON',
        name,
        conditions: { network: { connection: 'ANYWHERE' } },
        actions: { signon },
      },
    })
    return groupId
  }

  async function addToPromptGroup(user: ProofUser, mode: PromptMode): Promise<void> {
    const existing = groupsByPrompt.get(mode) ?? createPromptGroup(mode)
    groupsByPrompt.set(mode, existing)
    await manage({ method: 'PUT', path: `/api/v1/groups/${await existing}/users/${requireOwn(user.id)}` })
  }

  async function addFactor(user: ProofUser, factorType: 'question' | 'email'): Promise<void> {
    const question = { question: 'first_award', answer: user.answer }
    const profile = factorType === 'question' ? question : { email: user.email }
    await manage({
      method: 'POST',
      path: `${userPath(user)}/factors?activate=true`,
      body: { factorType, provider: 'OKTA', profile },
    })
  }

  async function resetTokenOf(user: ProofUser, operation: string): Promise<string> {
    const path = `${userPath(user)}/${operation}?sendEmail=false`
    const { body } = await manage({ method: 'POST', path })
    return textAt(body, 'resetPasswordUrl').split('/').at(-1) ?? ''
  }

  const log = async (filter: string): Promise<readonly Json[]> => {
    const { data } = await manage({ method: 'GET', path: `/api/v1/logs?${new URLSearchParams({ filter })}` })
    return listOf(data).filter(isRecord)
  }

  /** The System Log lags behind: asks again until an event is the one that is looked for. */
  async function eventsUntil(filter: string, isComplete: (events: readonly Json[]) => boolean) {
    const end = now() + settleMs
    for (;;) {
      const events = await log(filter)
      if (isComplete(events) || now() >= end) return events
      await pause(2000)
    }
  }

  /** Finds what exists by the names of the run, or of earlier ones. */
  async function adoptByName(prefix: string, logins: readonly string[]): Promise<void> {
    const search = new URLSearchParams({ search: `profile.login sw "${prefix}"` })
    const users = listOf((await manage({ method: 'GET', path: `/api/v1/users?${search}` })).data)
    for (const user of users) adopt('users', user, textAt(user, 'profile.login'))
    for (const login of logins) {
      // the search lags behind
      const reply = await send({ method: 'GET', path: `/api/v1/users/${encodeURIComponent(login)}` })
      if (reply.status < 300) adopt('users', reply.body, textAt(reply.body, 'profile.login'))
    }
    const query = new URLSearchParams({ q: prefix })
    const groups = listOf((await manage({ method: 'GET', path: `/api/v1/groups?${query}` })).data)
    for (const group of groups) adopt('groups', group, textAt(group, 'profile.name'))
    const policies = await manage({ method: 'GET', path: '/api/v1/policies?type=OKTA_SIGN_ON' })
    for (const policy of listOf(policies.data)) adopt('policies', policy, textAt(policy, 'name'))

    function adopt(kind: keyof typeof own, object: unknown, name: string): void {
      if (name.startsWith(prefix)) own[kind].set(textAt(object, 'id'), name)
    }
  }

  const loginsAmong = (names: Iterable<string>) => [...names].filter((name) => name.includes('@'))

  async function deleteAll(): Promise<string[]> {
    if (pending.size > 0)
      // a failure leaves them in the journal
      await adoptByName(`${NAME_PREFIX}${run}-`, loginsAmong(pending)).then(
        () => pending.clear(),
        () => undefined,
      )
    const steps = [
      ...[...own.policies].map(([id, name]) => ({
        name,
        paths: [`/api/v1/policies/${id}`],
        map: own.policies,
        id,
      })),
      ...[...own.groups].map(([id, name]) => ({
        name,
        paths: [`/api/v1/groups/${id}`],
        map: own.groups,
        id,
      })),
      // the first call deactivates the user, the second one deletes it
      ...[...own.users].map(([id, name]) => ({
        name,
        paths: Array(2).fill(`/api/v1/users/${id}`),
        map: own.users,
        id,
      })),
    ]
    const left: string[] = []
    for (const { name, paths, map, id } of steps) {
      const statuses: number[] = []
      for (const path of paths) statuses.push(await deleteAt(path))
      if (statuses.every((status) => status < 300 || status === 404)) map.delete(id)
      else left.push(name)
    }
    return [...left, ...pending]
  }

  /** Waits for the reset of a limit once: what the run made must go. */
  async function deleteAt(path: string): Promise<number> {
    try {
      return (await send({ method: 'DELETE', path })).status
    } catch (error) {
      if (!(error instanceof RateLimitReached)) return 599
      await pause(Math.min(Math.max(error.resetAtMs - now(), 0) + 1000, 120_000))
      return (await send({ method: 'DELETE', path })).status
    }
  }

  return {
    createUser,
    /** A user whose sign-in asks for a factor: a security question, unless another one is named. */
    async createPromptedUser(mode: PromptMode, factorType: 'question' | 'email' | 'none' = 'question') {
      const user = await createUser()
      await addToPromptGroup(user, mode)
      if (factorType !== 'none') await addFactor(user, factorType)
      return user
    },
    /** The user's status, and when the password was changed. */
    async read(user: ProofUser): Promise<{ status: string; passwordChanged: string }> {
      const { body } = await manage({ method: 'GET', path: userPath(user) })
      return { status: textAt(body, 'status'), passwordChanged: textAt(body, 'passwordChanged') }
    },
    async lifecycle(user: ProofUser, operation: string, query = ''): Promise<Json> {
      return (await manage({ method: 'POST', path: `${userPath(user)}/lifecycle/${operation}${query}` })).body
    },
    async clearSessions(user: ProofUser): Promise<void> {
      await manage({ method: 'DELETE', path: `${userPath(user)}/sessions` })
    },
    /** The token of the user's own recovery, without a message. The status stays. */
    recoveryToken: (user: ProofUser) => resetTokenOf(user, 'credentials/forgot_password'),
    /** The token of an administrator's reset, without a message. */
    resetToken: (user: ProofUser) => resetTokenOf(user, 'lifecycle/reset_password'),
    /** The token of an activation, without a message. */
    async activationToken(user: ProofUser): Promise<string> {
      const path = `${userPath(user)}/lifecycle/activate?sendEmail=false`
      return textAt((await manage({ method: 'POST', path })).body, 'activationToken')
    },
    /** The System Log's events about a user, once there is one of this type, or it is certain. */
    eventsAbout: (user: ProofUser, eventType: string) =>
      eventsUntil(`target.id eq "${requireOwn(user.id)}"`, (events) =>
        events.some((event) => event.eventType === eventType),
      ),
    eventsOf: (requestId: string) =>
      eventsUntil(`transaction.id eq "${requestId}"`, (events) => events.length > 0),
    async pipeline(): Promise<string> {
      const { body } = await call({ method: 'GET', path: '/.well-known/okta-organization' })
      return textAt(body, 'pipeline')
    },
    /** The names of what could not be deleted. */
    deleteAll,
    /** Takes over what an earlier run left, and deletes it. */
    async deleteLeftovers(names: readonly string[]): Promise<{ deleted: string[]; left: string[] }> {
      await adoptByName(NAME_PREFIX, loginsAmong(names))
      const found = Object.values(own).flatMap((map) => [...map.values()])
      const left = await deleteAll()
      return { deleted: found.filter((name) => !left.includes(name)), left }
    },
  }
}
