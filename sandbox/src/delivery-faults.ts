import { type DeliveryFaultRule, type ParsedDeliveryFault, parseDeliveryFault } from './fault-rules.ts'
import type { OrgEvent } from './org-events.ts'

type Deliver = (event: OrgEvent, fault?: ParsedDeliveryFault['kind']) => Promise<void>

export type DeliveryFaults = {
  /** Replaces all rules, which apply in this order: one to each event. */
  set(rules: readonly DeliveryFaultRule[]): void
  /**
   * Delivers the event as the rule says. Resolves at once if the event is delivered later or never.
   */
  apply(event: OrgEvent, deliver: Deliver): Promise<void>
  /** Removes all rules, and drops events that are not delivered yet. */
  clear(): void
}

export function createDeliveryFaults(): DeliveryFaults {
  let rules: { rule: ParsedDeliveryFault; remaining: number }[] = []
  /** The event that the next one overtakes. */
  let overtaken: OrgEvent | undefined
  const timers: NodeJS.Timeout[] = []

  function nextRule(): ParsedDeliveryFault | undefined {
    const entry = rules.find(({ remaining }) => remaining > 0)
    if (entry !== undefined) entry.remaining -= 1
    return entry?.rule
  }

  return {
    set(inputs) {
      rules = inputs.map(parseDeliveryFault).map((rule) => ({ rule, remaining: rule.times ?? Infinity }))
    },
    async apply(event, deliver) {
      const earlier = overtaken
      overtaken = undefined
      const rule = earlier === undefined ? nextRule() : undefined
      if (rule?.kind === 'silence') return
      if (rule?.kind === 'late') timers.push(setTimeout(() => void deliver(event), rule.ms))
      else if (rule?.kind === 'out-of-order') overtaken = event
      else await deliver(event, rule?.kind)
      if (rule?.kind === 'twice') await deliver(event)
      if (earlier !== undefined) await deliver(earlier)
    },
    clear() {
      rules = []
      overtaken = undefined
      for (const timer of timers.splice(0)) clearTimeout(timer)
    },
  }
}
