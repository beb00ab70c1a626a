/** The broker's cause, without the field's name, when a link in an email belongs to a different user from the session's. */
export const OTHER_USER = 'this sign-in belongs to a different user from the one signed in; sign out first'

/**
 * The messages for users, by HTTP status, error cause, error code or `factorResult`. For other codes the page shows the
 * `errorSummary`. If a message ends with a colon, the error's causes follow it.
 */
export const MESSAGES: Readonly<Record<string, string>> = {
  0: 'The portal cannot be reached. Are you online?',
  409: 'Another user has signed in in this browser.',
  E0000001: 'Please check this form:',
  E0000004: 'Incorrect username or password. Please try again.',
  E0000005: 'You are signed out.',
  E0000009: 'The sign-in service is not available. Please try again in a moment.',
  E0000011: 'This took too long, or the link has already been used. Please start again.',
  E0000014: 'That password cannot be used:',
  E0000047: 'Too many attempts.',
  E0000068: 'Incorrect code or answer. Please try again.',
  E0000069: 'Too many failed attempts. This factor is locked for now.',
  E0000079: 'This step is not available now. Please start again.',
  E0000087: 'Incorrect answer. Please try again.',
  E0000095: 'This account cannot be recovered here. Please ask your help desk.',
  E0000109: 'We have just sent you a text message. It may take a moment to arrive.',
  E0000133: 'We have just called you.',
  'device cookie not returned': 'Your browser did not return our cookie. Please allow cookies for this site.',
  [OTHER_USER]: 'Another user is signed in on this browser. Sign out first, then open the link again.',
  REJECTED: 'The request was rejected on your phone.',
  TIMEOUT: 'The request was not answered in time.',
  CANCELLED: 'The request was cancelled.',
  FAILED: 'The other identity provider did not sign you in.',
  ERROR: 'The request could not be delivered.',
  PASSCODE_REPLAYED: 'Each code works only once. Please wait for the next one.',
  TIME_WINDOW_EXCEEDED: 'This code has expired. Please enter the current one.',
}
