import type { Factor } from 'gatehouse-client'
import type { ReactNode } from 'react'
import { signIn } from '../gatehouse.ts'
import { fill } from '../language/fill.ts'
import { texts } from '../language/language.ts'
import { Form } from '../parts/form.tsx'
import { Screen } from '../parts/screen.tsx'
import { Again, type ChallengeProps, type ChallengeStep } from './challenge-step.tsx'
import { DuoScreen } from './duo.tsx'
import { detailOf, kindOf, nameOf, ProofField } from './factors.tsx'
import { OtherProvider } from './other-provider.tsx'
import { PhoneScreen } from './phone.tsx'
import { proofOf } from './proof.tsx'
import { QrCode } from './qr-code.tsx'
import { SecurityKey } from './security-key.tsx'
import { Explanation, UnknownStepScreen, Ways } from './ways.tsx'

export function Challenge({ step }: { readonly step: ChallengeStep }): ReactNode {
  const { factor } = step
  const isNew = step.status === 'MFA_ENROLL_ACTIVATE'
  const restart = isNew ? step.restart : undefined
  if (restart)
    return <Again title={texts.tookTooLong} submit={texts.newQrCode} step={step} onSubmit={restart} />

  const kind = factor && kindOf(factor)
  if (!factor || !kind) return <UnknownStepScreen step={step} />
  const explained = isNew ? kind.cannotEnroll : kind.cannotVerify
  if (explained)
    return (
      <Explanation {...explained}>
        <Ways step={step} />
      </Explanation>
    )

  const props = { step, factor, title: nameOf(factor), icon: kind.icon }
  if (step.next === 'redirect') return <OtherProvider {...props} step={step} />
  if (kind.answeredBy === 'key') return <SecurityKey {...props} />
  if (kind.answeredBy === 'duo') return <DuoScreen {...props} />
  if (kind.answeredBy === 'phone') return <PhoneScreen {...props} />
  return <EnterCode {...props} isSent={kind.send !== undefined} />
}

function EnterCode({ step, factor, title, icon, isSent }: ChallengeProps & { readonly isSent: boolean }) {
  if (step.next !== 'verify' && step.next !== 'activate') return <UnknownStepScreen step={step} />
  return (
    <Screen title={title} icon={icon}>
      <p>
        {isSent ? sentTo(factor) : detailOf(factor, step.status === 'MFA_CHALLENGE' ? 'verify' : 'enroll')}
      </p>
      <QrCode step={step} factor={factor} />
      <Form
        submit={texts.continue}
        onSubmit={(values) => signIn.verify(proofOf(values))}
        more={<Ways step={step} />}
      >
        <ProofField factor={factor} login={step.answer._embedded.user?.profile?.login} />
      </Form>
    </Screen>
  )
}

function sentTo({ profile = {} }: Factor): ReactNode {
  if ('phoneNumber' in profile) return fill(texts.sentTo, { to: profile.phoneNumber })
  if ('email' in profile) return fill(texts.sentTo, { to: profile.email })
  return texts.codeSent
}
