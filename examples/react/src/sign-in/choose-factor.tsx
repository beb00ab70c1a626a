import type { Factor, MfaRequired } from 'gatehouse-client'
import { useState } from 'react'
import { Heading } from '../heading.tsx'
import { EnterCode } from './enter-code.tsx'
import { NotPossible } from './not-possible.tsx'
import type { StepProps } from './sign-in.tsx'

type Totp = Extract<Factor, { factorType: 'token:software:totp' }>

/** The factors that this starter can verify. */
const LABELS: Readonly<Record<string, string>> = {
  'token:software:totp': 'Authenticator app',
  push: 'Okta Verify',
  sms: 'Text message',
  email: 'Email',
  call: 'Phone call',
} satisfies { readonly [Type in Factor['factorType']]?: string }

export function ChooseFactor({ step, ...props }: { readonly step: MfaRequired } & StepProps) {
  const [totp, setTotp] = useState<Totp>()
  const offered = step.factors.filter(({ factorType }) => LABELS[factorType])

  if (offered.length === 0) return <NotPossible step={step} {...props} />
  if (totp) {
    return (
      <EnterCode
        verify={(proof) => step.verify(totp, proof)}
        previous={async () => {
          setTotp(undefined)
          return step
        }}
        {...props}
      />
    )
  }
  return (
    <>
      <Heading>Verify your identity</Heading>
      {offered.map((factor) => (
        <button
          key={factor.id}
          type="button"
          disabled={props.isBusy}
          // the user already has the code of an app: no challenge is needed
          onClick={() =>
            factor.factorType === 'token:software:totp'
              ? setTotp(factor)
              : props.take(() => step.verify(factor))
          }
        >
          {LABELS[factor.factorType]}
        </button>
      ))}
    </>
  )
}
