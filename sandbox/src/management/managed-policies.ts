import { notFound } from '../authn/authn-error.ts'
import { idFromSeed } from '../authn/issued-tokens.ts'
import type { PasswordPolicy, SignOnPolicy } from '../sandbox-config.ts'
import type { ManagedObjects } from './managed-objects.ts'
import type { NewPolicyBody, NewRuleBody } from './management-bodies.ts'

type Settings = { OKTA_SIGN_ON: SignOnPolicy; PASSWORD: PasswordPolicy }
type PolicyType = keyof Settings

/**
 * In the order of their priority, which is a policy's place in it: a new one moves those from its
 * place on down, and a deletion moves them up again (okta-developer-docs@468de9c5,
 * guides/policy-rule-prioritization, "Policies v1"). The org's default policy comes last.
 */
export type ManagedPolicies = { [Type in PolicyType]: ManagedPolicy<Settings[Type]>[] }

type ManagedPolicy<Applied> = {
  readonly id: string
  readonly name: string
  readonly groupIds: readonly string[]
  settings: Applied
  /** Without a rule, a policy is not applied. */
  hasRule: boolean
}

/** The group that has all users. */
export const EVERYONE = { id: idFromSeed('00g', 'group Everyone'), name: 'Everyone' } as const

/** The first policy of this type that an administrator created for a group of the user. */
export function managedPolicyOf<Type extends PolicyType>(
  { groups, policies }: ManagedObjects,
  userId: string,
  type: Type,
): Settings[Type] | undefined {
  const isMember = (id: string) => id === EVERYONE.id || groups.get(id)?.members.has(userId) === true
  return policies[type].find(({ hasRule, groupIds }) => hasRule && groupIds.some(isMember))?.settings
}

export function createManagedPolicy({ policies }: ManagedObjects, body: NewPolicyBody): object {
  const { type, name, priority, conditions } = body
  const base = { id: idFromSeed('00p', `policy ${name}`), name, hasRule: false }
  const policy = { ...base, groupIds: conditions.people.groups.include }
  if (type === 'PASSWORD') insert(policies[type], { ...policy, settings: passwordPolicy(body) }, priority)
  else insert(policies[type], { ...policy, settings: NO_FACTOR }, priority)
  return presentPolicies(policies, type).find(({ id }) => id === policy.id) ?? {}
}

/** Of a new policy without a priority, the place is the last one. */
function insert<Policy>(list: Policy[], policy: Policy, priority = list.length + 1): void {
  list.splice(priority - 1, 0, policy)
}

export function addManagedRule({ policies }: ManagedObjects, policyId: string, body: NewRuleBody): object {
  const { type, name } = body
  if (type === 'SIGN_ON') {
    const policy = findPolicy(policies.OKTA_SIGN_ON, policyId)
    policy.settings = signOnPolicy(body.actions.signon)
    policy.hasRule = true
  } else {
    const policy = findPolicy(policies.PASSWORD, policyId)
    policy.settings.selfServiceReset &&= body.actions.selfServicePasswordReset.access === 'ALLOW'
    policy.hasRule = true
  }
  return { id: idFromSeed('0pr', `rule ${name}`), name, type }
}

export function removeManagedPolicy({ policies }: ManagedObjects, policyId: string): void {
  const list = Object.values(policies).find((each) => each.some(({ id }) => id === policyId))
  if (list === undefined) throw notFound(`${policyId} (Policy)`)
  list.splice(
    list.findIndex(({ id }) => id === policyId),
    1,
  )
}

export function presentPolicies(policies: ManagedPolicies, type: PolicyType) {
  const system = { id: idFromSeed('00p', `default ${type}`), name: 'Default Policy' }
  return [...policies[type], system].map(({ id, name }, index) => ({
    id,
    name,
    type,
    priority: index + 1,
    system: id === system.id,
    status: 'ACTIVE',
  }))
}

function findPolicy<Policy extends { id: string }>(list: readonly Policy[], policyId: string): Policy {
  const policy = list.find(({ id }) => id === policyId)
  if (policy === undefined) throw notFound(`${policyId} (Policy)`)
  return policy
}

const MFA = { ALWAYS: 'always', SESSION: 'session', DEVICE: 'device' } as const

const NO_FACTOR = signOnPolicy({ access: 'ALLOW', requireFactor: false, rememberDeviceByDefault: false })

function signOnPolicy({
  access,
  requireFactor,
  factorPromptMode = 'ALWAYS',
  rememberDeviceByDefault,
  factorLifetime = 0,
}: Extract<NewRuleBody, { type: 'SIGN_ON' }>['actions']['signon']): SignOnPolicy {
  return {
    mfa: requireFactor ? MFA[factorPromptMode] : 'never',
    deny: access === 'DENY',
    rules: [],
    allowRememberDevice: factorPromptMode !== 'ALWAYS',
    rememberDeviceLifetimeInMinutes: factorLifetime,
    rememberDeviceByDefault,
  }
}

function passwordPolicy({ settings }: Extract<NewPolicyBody, { type: 'PASSWORD' }>): PasswordPolicy {
  const { complexity, age, lockout } = settings.password
  return {
    complexity,
    warnDays: age.expireWarnDays,
    minAgeMinutes: age.minAgeMinutes,
    maxWrongPasswords: lockout.maxAttempts,
    showLockout: lockout.showLockoutFailures,
    selfServiceReset: settings.recovery.factors.okta_email.status === 'ACTIVE',
    selfServiceUnlock: true,
  }
}
