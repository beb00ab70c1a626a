import { type Json, textAt } from './json.ts'
import { POLICY_TYPES, type PolicyType } from './policies.ts'

/**
 * The order of the org's own policies, which those of a run move down and up again. Others may
 * create and delete policies meanwhile.
 */
export function createPolicyOrder(list: (type: PolicyType) => Promise<readonly Json[]>) {
  const before = new Map<PolicyType, readonly string[]>()

  const idsOf = async (type: PolicyType) => (await list(type)).map((policy) => textAt(policy, 'id'))

  /** A list that cannot be read tells nothing, so it counts. */
  async function isMoved(type: PolicyType): Promise<boolean> {
    const known = before.get(type)
    if (known === undefined) return false
    try {
      const now = await idsOf(type)
      const isThere = (ids: readonly string[]) => (id: string) => ids.includes(id)
      return known.filter(isThere(now)).join() !== now.filter(isThere(known)).join()
    } catch {
      return true
    }
  }

  return {
    /** To be called before the run creates a policy of this type. */
    async remember(type: PolicyType): Promise<void> {
      if (!before.has(type)) before.set(type, await idsOf(type))
    },
    /** The types whose policies are not known to be in the order that they had. */
    async moved(): Promise<PolicyType[]> {
      const moved = await Promise.all(POLICY_TYPES.map(async (type) => ({ type, is: await isMoved(type) })))
      return moved.filter(({ is }) => is).map(({ type }) => type)
    },
  }
}
