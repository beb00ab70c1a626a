export type * from './answers.ts'
export {
  createGatehouse,
  type Gatehouse,
  type GatehouseOptions,
  type GroupQuery,
  type SignInOptions,
  type SignInStart,
} from './create-gatehouse.ts'
export { type Denial, readDenial } from './denial.ts'
export { GatehouseError } from './gatehouse-error.ts'
export type { PollOptions } from './poll.ts'
export { ReauthenticationError } from './reauthentication-error.ts'
export { recommendFactor } from './recommend-factor.ts'
export { allowedReturnTo } from './return-to.ts'
export {
  type Assertion,
  type Attestation,
  createAttestation,
  getAssertion,
  type SecurityKeyOptions,
} from './security-keys.ts'
export type { SessionEnd, SessionEnding } from './session-watch.ts'
export {
  createSignInController,
  type ReauthenticationOptions,
  type SignInController,
  type SignInControllerOptions,
  type StartParameters,
} from './sign-in-controller.ts'
export type { SignInState, SignInView, StepUser } from './sign-in-state.ts'
export type * from './sign-in-step.ts'
export type * from './step-inputs.ts'
export type { CookieJar, TransportOptions } from './transport.ts'
