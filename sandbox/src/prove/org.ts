import { outcomeOf, type Reply } from './caller.ts'
import { isRecord, type Json, listOf, textAt } from './json.ts'
import { createOwnedObjects, type OwnedObjectsOptions } from './owned-objects.ts'
import { type NewPolicy, type PromptMode, passwordPolicy, promptPolicy } from './policies.ts'
import { createPolicyOrder } from './policy-order.ts'

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

export interface NewEventHook {
  readonly uri: string
  readonly secret: string
  readonly eventTypes: readonly string[]
}

export interface OrgOptions extends OwnedObjectsOptions {
  readonly mailDomain: string
  readonly password: () => string
  /** How long the System Log may lag behind. 0: not at all. */
  readonly settleMs: number
}

export type Org = ReturnType<typeof createOrgClient>

/** The org's management API, for what the run has created only. */
export function createOrgClient(options: OrgOptions) {
  const { mailDomain, now, pause, settleMs } = options
  const owned = createOwnedObjects(options)
  const { send, manage, create, listAll, nextName, requireUser, deleteAll, deleteLeftovers } = owned
  const policyOrder = createPolicyOrder(async (type) =>
    (await listAll(`/api/v1/policies?type=${type}`)).filter(isRecord),
  )
  const groups = new Map<string, Promise<string>>()

  const userPath = ({ id }: Pick<ProofUser, 'id'>) => `/api/v1/users/${requireUser(id)}`

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
    const { id } = await create('users', login, {
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
    return { id, login, email: login, secondEmail, password, question, answer }
  }

  /**
   * A group with a policy of its own. With priority 1, none of the org's own policies is applied
   * instead: they move down, and up again when it is deleted (okta-developer-docs@468de9c5,
   * guides/policy-rule-prioritization).
   */
  async function createGroup({ policy, conditions, rule }: NewPolicy): Promise<string> {
    const name = nextName()
    await policyOrder.remember(policy.type)
    const group = await create('groups', name, {
      method: 'POST',
      path: '/api/v1/groups',
      body: { profile: { name } },
    })
    const people = { groups: { include: [group.id] } }
    const { id } = await create('policies', name, {
      method: 'POST',
      path: '/api/v1/policies',
      body: { ...policy, name, status: 'ACTIVE', priority: 1, conditions: { ...conditions, people } },
    })
    const network = { connection: 'ANYWHERE' }
    await manage({
      method: 'POST',
      path: `/api/v1/policies/${id}/rules`,
      body: { ...rule, name, conditions: { network } },
    })
    return group.id
  }

  /** Adds the user to the group of this name, which is created for its first user. */
  async function addToGroup(user: ProofUser, group: string, policy: NewPolicy): Promise<void> {
    const existing = groups.get(group) ?? createGroup(policy)
    groups.set(group, existing)
    await manage({ method: 'PUT', path: `/api/v1/groups/${await existing}/users/${requireUser(user.id)}` })
  }

  /** A hook for events of these types, once the org has verified that it is called. */
  async function createEventHook({ uri, secret, eventTypes }: NewEventHook): Promise<void> {
    const name = nextName()
    const authScheme = { type: 'HEADER', key: 'authorization', value: secret }
    const { id } = await create('eventHooks', name, {
      method: 'POST',
      path: '/api/v1/eventHooks',
      body: {
        name,
        events: { type: 'EVENT_TYPE', items: eventTypes },
        channel: { type: 'HTTP', version: '1.0.0', config: { uri, headers: [], authScheme } },
      },
    })
    await manage({ method: 'POST', path: `/api/v1/eventHooks/${id}/lifecycle/verify` })
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

  return {
    createUser,
    createEventHook,
    /** A user whose sign-in asks for a factor: a security question, unless another one is named. */
    async createPromptedUser(mode: PromptMode, factorType: 'question' | 'email' | 'none' = 'question') {
      const user = await createUser()
      await addToGroup(user, mode, promptPolicy(mode))
      if (factorType !== 'none') await addFactor(user, factorType)
      return user
    },
    /** A user who may change and recover the password only once it has this age. */
    async createUserWithMinimumAge(minAgeMinutes: number, more: NewUser = {}): Promise<ProofUser> {
      const user = await createUser(more)
      await addToGroup(user, `minimum age ${minAgeMinutes}`, passwordPolicy(minAgeMinutes))
      return user
    },
    /**
     * Changes the password from `user.password`, as the minimum age allows (`strict` of
     * okta-sdk-golang's ApiChangePasswordRequest).
     */
    async changePassword(user: ProofUser, newPassword: string): Promise<Reply> {
      const path = `${userPath(user)}/credentials/change_password?strict=true`
      const body = { oldPassword: { value: user.password }, newPassword: { value: newPassword } }
      return send({ method: 'POST', path, body })
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
      eventsUntil(`target.id eq "${requireUser(user.id)}"`, (events) =>
        events.some((event) => event.eventType === eventType),
      ),
    eventsOf: (requestId: string) =>
      eventsUntil(`transaction.id eq "${requestId}"`, (events) => events.length > 0),
    /** @throws if the org does not know this API token; whether it has rights, the checks tell */
    async requireToken(token: string, variable: string): Promise<void> {
      const headers = { authorization: `SSWS ${token}` }
      const reply = await options.call({ method: 'GET', path: '/api/v1/users?limit=1', headers })
      if (reply.status === 401) throw new Error(`the org refuses ${variable}: ${outcomeOf(reply)}`)
    },
    async pipeline(): Promise<string> {
      const { body } = await options.call({ method: 'GET', path: '/.well-known/okta-organization' })
      return textAt(body, 'pipeline')
    },
    /** The names of what could not be deleted. */
    deleteAll,
    /** The types of the org's own policies that may have another order since the run. */
    movedPolicies: policyOrder.moved,
    /** Takes over what earlier runs left, and deletes it. */
    deleteLeftovers,
  }
}
