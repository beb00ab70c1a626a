import { validationFailed } from '../authn-error.ts'
import { type FactorHandler, WRONG_ANSWER } from './factor-handler.ts'

/** A security question. Answers are compared in lower case, without spaces around them. */
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
  answers: (body) => body.answer !== undefined,
  check: ({ factor, body }) =>
    answersMatch(body.answer, factor.config.answer)
      ? { kind: 'verified' }
      : { kind: 'wrong', cause: WRONG_ANSWER },
  poll: () => ({ kind: 'waiting' }),
}

export function answersMatch(given: string | undefined, right: string | undefined): boolean {
  return given !== undefined && right !== undefined && plain(given) === plain(right)
}

function plain(answer: string): string {
  return answer.trim().toLowerCase()
}
