import type { MessageName } from './catalogue.ts'

/** @param when such as `in 30 seconds` */
export const TRY_AGAIN_ENGLISH = (when: string): string => `You can try again ${when}.`

/** The title and the text of each message. */
export const ENGLISH: Readonly<Record<MessageName, readonly [title: string, text: string]>> = {
  offline: ['No connection', 'The portal cannot be reached. Are you online?'],
  unavailable: ['Please try again', 'The sign-in service is not available at the moment.'],
  stepInProgress: ['One moment', 'Your last step is still being processed. Please try again.'],
  unknown: ['Something went wrong', 'Please try again. If it happens again, contact your help desk.'],
  pageFault: ['Something went wrong', 'This page sent an invalid request. Contact your help desk.'],
  notFound: ['Not found', 'This page asked for something that does not exist.'],
  notAllowed: ['Not allowed', 'You do not have permission for this.'],
  notPossible: ['Not possible', 'Your account does not allow this at the moment. Contact your help desk.'],
  invalidInput: ['Check your input', 'One of the fields is not correct.'],
  rateLimited: ['Too many attempts', 'Please wait before you try again.'],

  signedOutHere: ['You are signed out', 'You have signed out.'],
  sessionIdle: ['You are signed out', 'You were signed out because you were not active.'],
  sessionExpired: ['You are signed out', 'You were signed out because your session was open for too long.'],
  sessionEnded: ['You are signed out', 'Your session was ended elsewhere.'],
  signedOut: ['You are signed out', 'Please sign in again.'],
  otherUser: [
    'Another user is signed in',
    'Another user is signed in on this browser. Sign out first, then try again.',
  ],
  newerSignIn: ['You have signed in again', 'Another sign-in in this browser has replaced your session.'],
  sessionReplaced: [
    'You have signed in again',
    'There is a newer sign-in in this browser. Reload this page.',
  ],
  cookiesBlocked: [
    'Cookies are blocked',
    'Your browser did not return our cookie. Please allow cookies for this site.',
  ],
  expired: ['Please start again', 'This took too long, or the link has already been used.'],
  notOffered: ['Please start again', 'This step is not available now.'],

  wrongCredentials: ['Sign-in failed', 'Incorrect username or password. Please try again.'],
  accountLocked: ['Your account is locked', 'Contact your help desk.'],
  accountDenied: ['No access', 'You cannot use your account at the moment. Contact your help desk.'],
  accountActive: ['Your account is already active', 'You can sign in.'],
  accountNotReady: ['Your account is not ready yet', 'Please try again in a few minutes.'],
  unlockNotAllowed: ['Not possible', 'Your account cannot be unlocked here. Contact your help desk.'],
  resetNotAllowed: ['Not possible', 'Your password cannot be reset here. Contact your help desk.'],
  recoveryNotAllowed: ['Not possible', 'This account cannot be recovered here. Contact your help desk.'],
  changeNotAllowed: ['Not possible', 'Your password cannot be changed here. Contact your help desk.'],

  passwordRules: ['Choose another password', 'This password does not follow the rules.'],
  wrongOldPassword: ['Check your current password', 'Your current password is not correct.'],
  passwordUsedBefore: ['Choose another password', 'You have used this password before.'],
  passwordTooNew: [
    'Your password is too new',
    'It was changed a short time ago and cannot be changed again yet.',
  ],
  passwordCommon: ['Choose another password', 'Many people use this password, so it is easy to guess.'],

  wrongCode: ['Not correct', 'Incorrect code or answer. Please try again.'],
  wrongAnswer: ['Not correct', 'Incorrect answer. Please try again.'],
  codeUsed: ['Wait for the next code', 'Each code works only once. Enter the next one.'],
  codeExpired: ['Code expired', 'This code is too old. Enter the current one.'],
  factorLocked: [
    'Too many failed attempts',
    'This second factor is locked for now. Use another one, or contact your help desk.',
  ],
  invalidPhone: ['Check the phone number', 'Enter it with + and the country code.'],
  smsSent: ['Message sent', 'A text message was just sent to you. It may take a moment to arrive.'],
  callMade: ['Call made', 'You were just called. Please wait before you ask for another call.'],

  groupsNotAvailable: ['Groups not available', 'Your groups could not be read. Contact your help desk.'],
  groupsNotAvailableNow: [
    'Groups not available',
    'Your groups cannot be read at the moment. Please try again.',
  ],
  pamDisabled: ['Groups not available', 'Privileged access is turned off for your organization.'],
  pamUserUnknown: ['No privileged access', 'You have no account for privileged access.'],

  rejected: ['Rejected', 'The request was rejected on your phone.'],
  notAnswered: ['No answer', 'The request was not answered in time.'],
  cancelled: ['Cancelled', 'The request was cancelled.'],
  notDelivered: ['Not delivered', 'The request could not be delivered.'],
  providerRefused: ['Sign-in failed', 'The other identity provider did not sign you in.'],
}
