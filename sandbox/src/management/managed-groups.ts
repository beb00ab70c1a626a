import type { SignOnPolicy } from '../sandbox-config.ts'

/** Groups that an administrator created, and the sign-on policies for them. */
export type ManagedGroups = {
  groups: Map<string, { name: string; members: Set<string> }>
  policies: Map<string, ManagedPolicy>
  clear(): void
}

export type ManagedPolicy = {
  name: string
  groupIds: readonly string[]
  /** Undefined until the policy has a rule. */
  signOn: SignOnPolicy | undefined
}

export function createManagedGroups(): ManagedGroups {
  const groups: ManagedGroups['groups'] = new Map()
  const policies: ManagedGroups['policies'] = new Map()
  return {
    groups,
    policies,
    clear() {
      groups.clear()
      policies.clear()
    },
  }
}

/** The policy that an administrator created for a group of this user, if there is one. */
export function managedPolicyOf(
  { groups, policies }: ManagedGroups,
  userId: string,
): SignOnPolicy | undefined {
  const applies = ({ groupIds }: ManagedPolicy) =>
    groupIds.some((id) => groups.get(id)?.members.has(userId) === true)
  return [...policies.values()].find((policy) => policy.signOn !== undefined && applies(policy))?.signOn
}
