import type { Catalogue } from './catalogue.ts'

export const ENGLISH: Catalogue = {
  language: 'en',
  tryAgainLater: 'Please try again later.',
  tryAgainIn: 'You can try again {when}.',
  passwordRules: {
    minLength: { one: 'at least {n} character', other: 'at least {n} characters' },
    minLowerCase: { one: 'a lowercase letter', other: 'at least {n} lowercase letters' },
    minUpperCase: { one: 'an uppercase letter', other: 'at least {n} uppercase letters' },
    minNumber: { one: 'a digit', other: 'at least {n} digits' },
    minSymbol: { one: 'a symbol such as ! or ?', other: 'at least {n} symbols such as ! or ?' },
    historyCount: { one: 'not your last password', other: 'none of your last {n} passwords' },
    excludeUsername: 'no part of your username',
    excludeFirstName: 'not your first name',
    excludeLastName: 'not your last name',
    notUsedBefore: 'not a password that you have used before',
    notCommon: 'not a password that many people use',
  },
  messages: {
    offline: ['No connection', 'The portal cannot be reached. Are you online?'],
    unavailable: ['The sign-in service is not available', '{retry}'],
    stepInProgress: ['Your last step is still being processed', '{retry}'],
    apiNotProxied: [
      'Something is not set up correctly',
      'This page does not reach the sign-in service (is /api proxied?). Contact your help desk.',
    ],
    unknown: ['Something went wrong', 'Please try again. If it happens again, contact your help desk.'],
    pageFault: ['Something went wrong', 'This page sent an invalid request. Contact your help desk.'],
    notFound: ['Not found', 'What you asked for was not found.'],
    notAllowed: ['Not allowed', 'You do not have permission for this.'],
    addressBlocked: [
      'Not possible from this network',
      'The sign-in service refuses the network that you are in. Try another one, or contact your help desk.',
    ],
    signInAgain: ['Sign in again', 'Confirm that it is you by signing in again.'],
    notPossible: ['Not possible', 'Your account does not allow this at the moment. Contact your help desk.'],
    invalidInput: ['Check your input', 'One of the fields is not correct.'],
    rateLimited: ['Too many attempts', '{retry}'],
    directoryUnavailable: [
      'Your company’s directory does not answer',
      'Your password may be correct. {retry}',
    ],

    signedOutHere: ['You are signed out', 'You have signed out.'],
    sessionIdle: ['You are signed out', 'You were signed out because you were not active.'],
    sessionExpired: ['You are signed out', 'Your session has reached its maximum duration.'],
    sessionEnded: ['You are signed out', 'Your session was ended elsewhere.'],
    signedOut: ['You are signed out', 'Please sign in again.'],
    otherUser: [
      'Another user is signed in',
      'Another user is signed in on this browser. Sign out first, then try again.',
    ],
    newerSignIn: ['New sign-in', 'Another sign-in in this browser has replaced your session.'],
    sessionReplaced: ['New sign-in', 'There is a newer sign-in in this browser. Reload this page.'],
    cookiesBlocked: [
      'Cookies are blocked',
      'Your browser did not return our cookie. Please allow cookies for this site.',
    ],
    expired: ['Please start again', 'This took too long. If you followed a link in an email, open it again.'],
    linkExpired: [
      'Link no longer valid',
      'This link has expired, or has already been used. Request a new one.',
    ],
    notOffered: ['Please start again', 'This step is not available now.'],

    wrongCredentials: ['Sign-in failed', 'Incorrect username or password. Please try again.'],
    passwordExpired: [
      'Your password has expired',
      'If you cannot set a new one here, contact your help desk.',
    ],
    passwordBreached: [
      'Your password is not safe',
      'It was found in a data breach. If you cannot set a new one here, contact your help desk.',
    ],
    accountLocked: ['Your account is locked', 'If you cannot unlock it here, contact your help desk.'],
    accountDenied: ['No access', 'You cannot use your account at the moment. Contact your help desk.'],
    accountActive: ['Your account is already active', 'You can sign in.'],
    accountNotReady: ['Your account is still being set up', 'Please try again in a few minutes.'],
    accountUnlocked: ['Your account is unlocked', 'You can sign in now.'],
    unlockNotAllowed: ['Not possible', 'Your account cannot be unlocked here. Contact your help desk.'],
    resetNotAllowed: ['Not possible', 'Your password cannot be reset here. Contact your help desk.'],
    recoveryNotAllowed: ['Not possible', 'This account cannot be recovered here. Contact your help desk.'],
    changeNotAllowed: ['Not possible', 'Your password cannot be changed here. Contact your help desk.'],

    passwordRules: ['Choose another password', 'This password does not follow the rules.'],
    wrongOldPassword: ['Check your current password', 'Your current password is not correct.'],
    passwordUsedBefore: ['Choose another password', 'You have used this password before.'],
    passwordTooNew: ['Password changed only recently', 'It cannot be changed again yet.'],
    passwordCommon: ['Choose another password', 'Many people use this password, so it is easy to guess.'],

    wrongCode: ['Not correct', 'Incorrect code or answer. Please try again.'],
    wrongAnswer: ['Not correct', 'Incorrect answer. Please try again.'],
    codeUsed: ['Wait for the next code', 'Each code works only once: enter the next one.'],
    codeExpired: ['Code expired', 'This code is too old. Enter the current one.'],
    factorLocked: [
      'Too many failed attempts',
      'This second factor is locked for now. Use another one, or contact your help desk.',
    ],
    invalidPhone: ['Check the phone number', 'Enter the number with + and the country code.'],
    keyNotUsed: [
      'Security key not used',
      'The request was cancelled or took too long, or this key is not set up for you. Please try again.',
    ],
    keyAlreadySetUp: ['Already set up', 'You have set up this security key before. Use another one.'],
    tokenPrompt: ['One more step', 'Your token asks:'],
    nextTokenCode: [
      'Wait for the next code',
      'Wait until your token shows another code, then enter that one.',
    ],
    smsSent: ['We have sent you a text message', '{retry}'],
    callMade: ['We have called you', '{retry}'],
    emailSent: ['We have sent you an email', '{retry}'],
    tooManyMessages: ['Too many messages', '{retry}'],
    messagesUsedUp: ['No message can be sent', 'Choose another way, or contact your help desk.'],

    factorNeeded: [
      'A second factor is needed',
      'This application needs a sign-in with a second factor. If you are not asked for one, set one up first, or contact your help desk.',
    ],
    securityKeyNeeded: [
      'A security key is needed',
      'This application needs a sign-in with a security key or a hardware token. If you are not asked for it, set one up first, or contact your help desk.',
    ],
    otherMethodNeeded: [
      'Another way to sign in is needed',
      'This application does not accept the way in which you signed in. Choose another factor, set one up first, or contact your help desk.',
    ],
    roleNeeded: [
      'You have no access',
      'You do not have the role that this application needs. Contact your help desk.',
    ],
    groupNeeded: [
      'You have no access',
      'You are in none of the groups that this application is for. Contact your help desk.',
    ],
    boundSessionNeeded: [
      'Not possible in this browser',
      'This application needs a session that is bound to your device. Use a browser that can do this, or contact your help desk.',
    ],

    groupsNotAvailable: ['Your groups could not be read', 'Contact your help desk.'],
    groupsNotAvailableNow: ['Your groups cannot be read at the moment', '{retry}'],
    pamDisabled: ['Groups not available', 'Privileged access is turned off for your organization.'],
    pamUserUnknown: ['No privileged access', 'You have no account for privileged access.'],

    rejected: ['Rejected', 'The request was rejected on your phone.'],
    notAnswered: ['No answer', 'The request was not answered in time.'],
    cancelled: ['Cancelled', 'The request was cancelled.'],
    notDelivered: ['Not delivered', 'The request could not be delivered.'],
    providerRefused: ['Sign-in failed', 'The other identity provider did not sign you in.'],
  },
}
