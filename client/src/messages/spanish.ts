import type { Catalogue } from './catalogue.ts'

export const SPANISH: Catalogue = {
  language: 'es',
  tryAgainLater: 'Inténtelo de nuevo más tarde.',
  tryAgainIn: 'Podrá intentarlo de nuevo {when}.',
  passwordRules: {
    minLength: { one: 'al menos {n} carácter', other: 'al menos {n} caracteres' },
    minLowerCase: { one: 'una letra minúscula', other: 'al menos {n} letras minúsculas' },
    minUpperCase: { one: 'una letra mayúscula', other: 'al menos {n} letras mayúsculas' },
    minNumber: { one: 'un dígito', other: 'al menos {n} dígitos' },
    minSymbol: { one: 'un símbolo, como ! o ?', other: 'al menos {n} símbolos, como ! o ?' },
    historyCount: {
      one: 'distinta de su última contraseña',
      other: 'distinta de sus últimas {n} contraseñas',
    },
    excludeUsername: 'ninguna parte de su nombre de usuario',
    excludeFirstName: 'sin su nombre',
    excludeLastName: 'sin sus apellidos',
    notUsedBefore: 'distinta de las que ya ha usado',
    notCommon: 'que no sea muy común',
  },
  messages: {
    offline: ['Sin conexión', 'No se puede acceder al portal. ¿Tiene conexión a Internet?'],
    unavailable: ['El servicio de inicio de sesión no está disponible', '{retry}'],
    stepInProgress: ['Todavía se está procesando su último paso', '{retry}'],
    apiNotProxied: [
      'Algo no está bien configurado',
      'Esta página no puede acceder al servicio de inicio de sesión (¿se redirige /api?). Póngase en contacto con el equipo de soporte.',
    ],
    unknown: [
      'Se ha producido un error',
      'Inténtelo de nuevo. Si el problema continúa, póngase en contacto con el equipo de soporte.',
    ],
    pageFault: [
      'Se ha producido un error',
      'Esta página ha enviado una solicitud no válida. Póngase en contacto con el equipo de soporte.',
    ],
    notFound: ['No encontrado', 'No se ha encontrado lo que ha solicitado.'],
    notAllowed: ['No permitido', 'No tiene permiso para hacer esto.'],
    addressBlocked: [
      'No es posible desde esta red',
      'El servicio de inicio de sesión no admite la red que está usando. Pruebe con otra red o póngase en contacto con el equipo de soporte.',
    ],
    signInAgain: ['Vuelva a iniciar sesión', 'Inicie sesión de nuevo para confirmar su identidad.'],
    notPossible: [
      'No es posible',
      'Su cuenta no lo permite en este momento. Póngase en contacto con el equipo de soporte.',
    ],
    invalidInput: ['Revise los datos', 'Uno de los campos no es correcto.'],
    rateLimited: ['Demasiados intentos', '{retry}'],
    directoryUnavailable: [
      'El directorio de su empresa no responde',
      'Es posible que su contraseña sea correcta. {retry}',
    ],

    signedOutHere: ['Sesión cerrada', 'Ha cerrado la sesión.'],
    sessionIdle: ['Sesión cerrada', 'Su sesión se ha cerrado por inactividad.'],
    sessionExpired: ['Sesión cerrada', 'Su sesión ha alcanzado la duración máxima.'],
    sessionEnded: ['Sesión cerrada', 'Su sesión se ha cerrado desde otro lugar.'],
    signedOut: ['Sesión cerrada', 'Vuelva a iniciar sesión.'],
    otherUser: [
      'Hay otra sesión abierta',
      'Otra persona ha iniciado sesión en este navegador. Cierre primero esa sesión e inténtelo de nuevo.',
    ],
    newerSignIn: [
      'Nuevo inicio de sesión',
      'Otro inicio de sesión en este navegador ha sustituido su sesión.',
    ],
    sessionReplaced: [
      'Nuevo inicio de sesión',
      'Hay un inicio de sesión más reciente en este navegador. Recargue esta página.',
    ],
    cookiesBlocked: [
      'Las cookies están bloqueadas',
      'Su navegador no ha devuelto nuestra cookie. Permita las cookies para este sitio.',
    ],
    expired: [
      'Empiece de nuevo',
      'Ha pasado demasiado tiempo. Si llegó aquí por un enlace de un correo electrónico, vuelva a abrirlo.',
    ],
    linkExpired: [
      'El enlace ya no es válido',
      'Este enlace ha caducado o ya se ha utilizado. Solicite uno nuevo.',
    ],
    notOffered: ['Empiece de nuevo', 'Este paso no está disponible en este momento.'],

    wrongCredentials: [
      'No se ha podido iniciar sesión',
      'El nombre de usuario o la contraseña no son correctos. Inténtelo de nuevo.',
    ],
    passwordExpired: [
      'Su contraseña ha caducado',
      'Si no puede establecer una nueva aquí, póngase en contacto con el equipo de soporte.',
    ],
    passwordBreached: [
      'Su contraseña no es segura',
      'Aparece en una filtración de datos. Si no puede establecer una nueva aquí, póngase en contacto con el equipo de soporte.',
    ],
    accountLocked: [
      'Su cuenta está bloqueada',
      'Si no puede desbloquearla aquí, póngase en contacto con el equipo de soporte.',
    ],
    accountDenied: [
      'Sin acceso',
      'No puede usar su cuenta en este momento. Póngase en contacto con el equipo de soporte.',
    ],
    accountActive: ['Su cuenta ya está activada', 'Ya puede iniciar sesión.'],
    accountNotReady: ['Su cuenta aún se está configurando', 'Inténtelo de nuevo dentro de unos minutos.'],
    accountUnlocked: ['Su cuenta está desbloqueada', 'Ya puede iniciar sesión.'],
    unlockNotAllowed: [
      'No es posible',
      'Su cuenta no se puede desbloquear aquí. Póngase en contacto con el equipo de soporte.',
    ],
    resetNotAllowed: [
      'No es posible',
      'Su contraseña no se puede restablecer aquí. Póngase en contacto con el equipo de soporte.',
    ],
    recoveryNotAllowed: [
      'No es posible',
      'Esta cuenta no se puede recuperar aquí. Póngase en contacto con el equipo de soporte.',
    ],
    changeNotAllowed: [
      'No es posible',
      'Su contraseña no se puede cambiar aquí. Póngase en contacto con el equipo de soporte.',
    ],

    passwordRules: ['Elija otra contraseña', 'Esta contraseña no cumple las reglas.'],
    wrongOldPassword: ['Revise su contraseña actual', 'Su contraseña actual no es correcta.'],
    passwordUsedBefore: ['Elija otra contraseña', 'Ya ha usado esta contraseña antes.'],
    passwordTooNew: ['Contraseña cambiada hace poco', 'Todavía no se puede volver a cambiar.'],
    passwordCommon: [
      'Elija otra contraseña',
      'Muchas personas usan esta contraseña, por lo que es fácil de adivinar.',
    ],

    wrongCode: ['No es correcto', 'El código o la respuesta no son correctos. Inténtelo de nuevo.'],
    wrongAnswer: ['No es correcto', 'La respuesta no es correcta. Inténtelo de nuevo.'],
    codeUsed: ['Espere al siguiente código', 'Cada código solo sirve una vez: introduzca el siguiente.'],
    codeExpired: ['Código caducado', 'Este código ya no es válido. Introduzca el actual.'],
    factorLocked: [
      'Demasiados intentos fallidos',
      'Este segundo factor está bloqueado por ahora. Use otro o póngase en contacto con el equipo de soporte.',
    ],
    invalidPhone: [
      'Revise el número de teléfono',
      'Introduzca el número con el signo + y el prefijo del país.',
    ],
    keyNotUsed: [
      'Llave de seguridad no utilizada',
      'La solicitud se canceló o tardó demasiado, o esta llave no está configurada para usted. Inténtelo de nuevo.',
    ],
    keyAlreadySetUp: ['Ya está configurada', 'Ya ha configurado esta llave de seguridad. Utilice otra.'],
    tokenPrompt: ['Un paso más', 'Su token solicita:'],
    nextTokenCode: [
      'Espere al siguiente código',
      'Espere a que su token muestre otro código y, a continuación, introdúzcalo.',
    ],
    smsSent: ['Le hemos enviado un SMS', '{retry}'],
    callMade: ['Le hemos llamado por teléfono', '{retry}'],
    emailSent: ['Le hemos enviado un correo electrónico', '{retry}'],
    tooManyMessages: ['Demasiados mensajes', '{retry}'],
    messagesUsedUp: [
      'No se puede enviar ningún mensaje',
      'Elija otro método o póngase en contacto con el equipo de soporte.',
    ],

    factorNeeded: [
      'Se necesita un segundo factor',
      'Esta aplicación exige iniciar sesión con un segundo factor. Si no se le solicita, configure uno primero o póngase en contacto con el equipo de soporte.',
    ],
    securityKeyNeeded: [
      'Se necesita una llave de seguridad',
      'Esta aplicación exige iniciar sesión con una llave de seguridad o un token físico. Si no se le solicita, configure primero uno de los dos o póngase en contacto con el equipo de soporte.',
    ],
    otherMethodNeeded: [
      'Se necesita otro método de inicio de sesión',
      'Esta aplicación no acepta el método con el que ha iniciado sesión. Elija otro factor (configúrelo primero si es necesario) o póngase en contacto con el equipo de soporte.',
    ],
    roleNeeded: [
      'No tiene acceso',
      'No tiene el rol que exige esta aplicación. Póngase en contacto con el equipo de soporte.',
    ],
    groupNeeded: [
      'No tiene acceso',
      'No pertenece a ninguno de los grupos a los que está destinada esta aplicación. Póngase en contacto con el equipo de soporte.',
    ],
    boundSessionNeeded: [
      'No es posible en este navegador',
      'Esta aplicación exige una sesión vinculada a su dispositivo. Use un navegador que lo permita o póngase en contacto con el equipo de soporte.',
    ],

    groupsNotAvailable: [
      'No se han podido consultar sus grupos',
      'Póngase en contacto con el equipo de soporte.',
    ],
    groupsNotAvailableNow: ['No se pueden consultar sus grupos en este momento', '{retry}'],
    pamDisabled: ['Grupos no disponibles', 'El acceso privilegiado está desactivado en su organización.'],
    pamUserUnknown: ['Sin acceso privilegiado', 'No tiene una cuenta para el acceso privilegiado.'],

    rejected: ['Solicitud rechazada', 'La solicitud se ha rechazado en su teléfono.'],
    notAnswered: ['Sin respuesta', 'La solicitud no se ha respondido a tiempo.'],
    cancelled: ['Solicitud cancelada', 'La solicitud se ha cancelado.'],
    notDelivered: ['Solicitud no entregada', 'No se ha podido entregar la solicitud.'],
    providerRefused: [
      'No se ha podido iniciar sesión',
      'El otro proveedor de identidad no ha completado el inicio de sesión.',
    ],
  },
}
