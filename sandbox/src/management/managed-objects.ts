import type { AddedReceiver } from '../event-hook.ts'
import type { SignOnPolicy } from '../sandbox-config.ts'

/** Groups that an administrator created, the sign-on policies for them, and event hooks. */
export type ManagedObjects = {
  groups: Map<string, { name: string; members: Set<string> }>
  policies: Map<string, ManagedPolicy>
  eventHooks: Map<string, ManagedEventHook>
  clear(): void
}

export type ManagedPolicy = {
  name: string
  groupIds: readonly string[]
  /** Undefined until the policy has a rule. */
  signOn: SignOnPolicy | undefined
}

export type ManagedEventHook = {
  name: string
  receiver: AddedReceiver
  isActive: boolean
  isVerified: boolean
}

export function createManagedObjects(): ManagedObjects {
  const groups: ManagedObjects['groups'] = new Map()
  const policies: ManagedObjects['policies'] = new Map()
  const eventHooks: ManagedObjects['eventHooks'] = new Map()
  return {
    groups,
    policies,
    eventHooks,
    clear() {
      for (const each of [groups, policies, eventHooks]) each.clear()
    },
  }
}

/** The policy that an administrator created for a group of this user, if there is one. */
export function managedPolicyOf(
  { groups, policies }: ManagedObjects,
  userId: string,
): SignOnPolicy | undefined {
  const applies = ({ groupIds }: ManagedPolicy) =>
    groupIds.some((id) => groups.get(id)?.members.has(userId) === true)
  return [...policies.values()].find((policy) => policy.signOn !== undefined && applies(policy))?.signOn
}
