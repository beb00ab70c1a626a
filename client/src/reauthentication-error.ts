const REASONS = {
  'other-user': 'Another user has signed in instead.',
  cancelled: 'The user has not signed in again.',
  'signed-out': 'The session has ended.',
}

/** `requireRecentSignIn` has not run the act. */
export class ReauthenticationError extends Error {
  override readonly name = 'ReauthenticationError'
  readonly reason: keyof typeof REASONS

  constructor(reason: keyof typeof REASONS) {
    super(REASONS[reason])
    this.reason = reason
  }
}
