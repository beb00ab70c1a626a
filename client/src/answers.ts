import type { components, UnknownValue } from './api-types.ts'

/** The answers of Gatehouse, from its OpenAPI document. */
type Schemas = components['schemas']

/** The answer to a step of a sign-in. `status` tells which members it has. */
export type SignInAnswer = Schemas['SignInAnswer']
export type AnswerOf<Status extends SignInAnswer['status']> = Extract<SignInAnswer, { status: Status }>
/** A status that this version does not know. */
export type UnknownStatus = UnknownValue

/** `factorType` tells which members it has. */
export type Factor = Schemas['Factor']
export type FactorResult = Schemas['FactorResult']
export type SecurityQuestion = Schemas['SecurityQuestions'][number]
/** The rules for a new password. */
export type PasswordPolicy = Schemas['PasswordPolicy']
export type Link = Schemas['Link']

export type ErrorBody = Schemas['ErrorObject']
export type ErrorCode = Schemas['ErrorCode']

export type Session = Schemas['Session']
/** Okta's fields for a user: the known ones have types, others are `unknown`. */
export type Profile = Schemas['Profile']
export type OwnSession = Schemas['Sessions']['sessions'][number]
/** The user's groups and roles. */
export type Access = Schemas['Access']
export type GroupPage = Schemas['GroupPage']
