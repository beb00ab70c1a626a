import type { MfaRequired, Proof, VerifyOptions } from 'gatehouse-client'
import { texts } from '../language/language.ts'
import { Checkbox } from '../parts/fields.tsx'
import type { Values } from '../parts/form.tsx'

export function proofOf({ passCode = '', answer, password }: Values): Proof {
  if (answer !== undefined) return { answer }
  return password === undefined ? { passCode } : { password }
}

export function optionsOf({ rememberDevice }: Values): VerifyOptions {
  return rememberDevice ? { rememberDevice: true } : {}
}

interface RememberBoxProps {
  readonly policy: MfaRequired['answer']['_embedded']['policy']
}

export function RememberBox({ policy }: RememberBoxProps) {
  if (!policy?.allowRememberDevice) return null
  const { rememberDeviceByDefault = false } = policy
  return <Checkbox name="rememberDevice" label={texts.doNotAskAgain} isChecked={rememberDeviceByDefault} />
}
