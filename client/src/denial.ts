const REASONS = ['amr', 'age', 'role', 'group', 'bound'] as const
const METHODS = ['pwd', 'mfa', 'otp', 'hwk', 'swk', 'pop', 'sms', 'tel', 'kba'] as const

/** Why an application refuses the session of a user. */
export interface Denial {
  /**
   * The rule that is not met. `amr`: how the user signed in; `age`: how long ago; `bound`: whether
   * the session is bound to the device.
   */
  readonly reason: (typeof REASONS)[number]
  /** With `amr`: the methods that the session lacks. Empty if they are not known. */
  readonly amr: readonly (typeof METHODS)[number][]
}

/**
 * The reason with which Gatehouse opens the sign-in page, from the page's query. Anyone can write
 * it: values that are not known are left out.
 */
export function readDenial(query: string | URLSearchParams = location.search): Denial | undefined {
  const parameters = new URLSearchParams(query)
  const reason = REASONS.find((known) => known === parameters.get('reason'))
  const given = parameters.getAll('amr')
  return reason && { reason, amr: METHODS.filter((known) => reason === 'amr' && given.includes(known)) }
}
