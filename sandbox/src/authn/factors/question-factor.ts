import { validationFailed } from '../authn-error.ts'
import { type FactorHandler, WRONG_ANSWER } from './factor-handler.ts'

/** A security question. Answers are compared without case and surrounding spaces. */
export const question: FactorHandler = {
  idPrefix: () => 'ufs',
  profile: (config, _owner) => ({ question: config.question }),
  enroll(body, _owner, org) {
    const { question: name, answer } = body.profile ?? {}
    const causes = [
      ...(typeof name === 'string' && Object.hasOwn(org.config.questions, name)
        ? []
        : ['profile.question: Invalid question']),
      ...(typeof answer === 'string' && answer.trim().length >= 4
        ? []
        : ['profile.answer: The security question answer must be at least 4 characters in length']),
    ]
    if (causes.length > 0 || typeof name !== 'string' || typeof answer !== 'string')
      throw validationFailed('factorEnrollRequest', causes)
    return { question: name, answer }
  },
  immediate: true,
  begin: () => {},
  hasAnswer: (body) => body.answer !== undefined,
  check: ({ factor, body }) =>
    answersMatch(body.answer, factor.config.answer)
      ? { kind: 'verified' }
      : { kind: 'wrong', cause: WRONG_ANSWER },
  poll: () => ({ kind: 'waiting' }),
}

export function answersMatch(actual: string | undefined, expected: string | undefined): boolean {
  return actual !== undefined && expected !== undefined && normalize(actual) === normalize(expected)
}

function normalize(answer: string): string {
  return answer.trim().toLowerCase()
}
