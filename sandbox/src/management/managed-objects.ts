import type { AddedReceiver } from '../event-hook.ts'
import type { ManagedPolicies } from './managed-policies.ts'

/** Groups that an administrator created, the policies for them, and event hooks. */
export type ManagedObjects = {
  groups: Map<string, { name: string; members: Set<string> }>
  policies: ManagedPolicies
  eventHooks: Map<string, ManagedEventHook>
  clear(): void
}

export type ManagedEventHook = {
  name: string
  receiver: AddedReceiver
  isActive: boolean
  isVerified: boolean
}

export function createManagedObjects(): ManagedObjects {
  const groups: ManagedObjects['groups'] = new Map()
  const policies: ManagedPolicies = { OKTA_SIGN_ON: [], PASSWORD: [] }
  const eventHooks: ManagedObjects['eventHooks'] = new Map()
  return {
    groups,
    policies,
    eventHooks,
    clear() {
      for (const each of [groups, eventHooks]) each.clear()
      for (const each of Object.values(policies)) each.length = 0
    },
  }
}
