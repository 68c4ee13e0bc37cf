"""Secrets as they are pasted into notes: commands, files of settings, prose, and tokens.

They are generated while the tests run, as those of `tests/secrets.py` are.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Mapping, Sequence

from tests import secrets
from tests.secrets import ALNUM, DIGITS, HEX, LOWER, UPPER, WORD, Make, form, key_data, of, strong
from vaultsync.privacy.bip39 import numbers

BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
B64 = ALNUM + "+/"


PASSWORD = strong(ALNUM, 12)
SIGNED = strong(ALNUM + "!#$%&*+-.=?@^_~", 16)
"""A password with signs that a shell and a file of settings take as they are."""
KEY = strong(ALNUM, 32)


def _spoken(dice: random.Random) -> str:
    """A password as people think of one."""
    word = dice.choice(["Sommer", "Hafen", "Lighthouse", "Tidewater", "Mango", "Kestrel"])
    return f"{word}{dice.randrange(20, 99)}{dice.choice('!?#$%&')}{dice.randrange(2, 9)}"


def _base64(make: Make) -> Make:
    def made(dice: random.Random) -> str:
        return base64.b64encode(make(dice).encode()).decode()

    return made


_LOGIN = _base64(form("harbour-bot:", PASSWORD))
"""What `Basic` and files of Docker hold."""

_WORDS_OF: Mapping[str, Sequence[str]] = {
    language: words.split()
    for language, words in {
        "German": (
            "Hafen Möwe Laterne Segel Anker Nebel Kompass Brücke Kuchen Fenster Wolke "
            "Garten Teller Löffel Birne Pflaume Kamel Tiger Zebra Lampe Tisch Pinsel Feder "
            "Regen Sonne"
        ),
        "French": (
            "bateau nuage fenêtre lampe jardin cheval pomme rivière montagne soleil chapeau "
            "citron guitare papillon bouteille tortue orage cerise valise moulin fromage "
            "hibou"
        ),
        "Spanish": (
            "barco nube ventana jardín caballo manzana montaña sombrero limón guitarra "
            "mariposa botella tortuga tormenta cereza maleta molino queso camino espejo "
            "lechuga piedra"
        ),
        "Japanese": (
            "さくら もみじ うみ やま かわ そら つき ほし ねこ いぬ "
            "とり さかな りんご みかん かさ まど はし いけ くも あめ"
        ),
    }.items()
}


def words(language: str, count: int, between: str = " ") -> Make:
    """A passphrase: words that were drawn by lot."""

    def make(dice: random.Random) -> str:
        known = list(numbers()) if language == "English" else _WORDS_OF[language]
        return between.join(dice.sample(known, count))

    return make


def _seed(between: str) -> Make:
    """The words of a wallet."""

    def make(dice: random.Random) -> str:
        import hashlib

        secret = dice.randbytes(16)
        whole = int.from_bytes(secret) << 4 | hashlib.sha256(secret).digest()[0] >> 4
        known = list(numbers())
        return between.join(known[whole >> 11 * at & 2047] for at in reversed(range(12)))

    return make


def _pem(name: str, between: str, size: int = 400) -> Make:
    def make(dice: random.Random) -> str:
        body = base64.b64encode(dice.randbytes(size)).decode()
        lines = [body[at : at + 64] for at in range(0, len(body), 64)]
        return between.join([f"-----BEGIN {name}-----", *lines, f"-----END {name}-----"])

    return make


COMMANDS: Mapping[str, tuple[str, Make]] = {
    "mysql -p": ("mysql -u root -p{} app", PASSWORD),
    "mysql -p alone": ("mysql -p{}", SIGNED),
    "mysql -p with a blank": ("mysql -u root -p {}", PASSWORD),
    "mysql -p of a host": ("mysql -h db.example.org -u app -p'{}' harbour", SIGNED),
    "mysqldump": ("mysqldump -uroot -p{} --all-databases > all.sql", PASSWORD),
    "mysqladmin": ("mysqladmin -u root -p{} status", PASSWORD),
    "mariadb": ("mariadb -u app -p{}", PASSWORD),
    "sshpass": ("sshpass -p {} ssh ada@pier.example.org", PASSWORD),
    "sshpass quoted": ("sshpass -p '{}' scp x ada@pier:/tmp", SIGNED),
    "sshpass joined": ("sshpass -p{} ssh ada@pier", PASSWORD),
    "curl -u": ("curl -u ada:{} https://api.example.org", PASSWORD),
    "curl -u of others": ("curl -X POST -H 'A: b' -u 'ada:{}' https://api.example.org", SIGNED),
    "curl -u joined": ("curl -sSuada:{} https://api.example.org", PASSWORD),
    "curl --proxy-user": ("curl --proxy-user ada:{} https://api.example.org", PASSWORD),
    "http -a": ("http -a ada:{} GET https://api.example.org", PASSWORD),
    "wget": ("wget --user=ada --http-password={} https://x.example.org", PASSWORD),
    "psql": ('psql "host=db user=app password={} dbname=x"', PASSWORD),
    "PGPASSWORD of psql": ("PGPASSWORD={} psql -h db -U app", SIGNED),
    "MYSQL_PWD": ("MYSQL_PWD={} mysql -u root", PASSWORD),
    "redis-cli": ("redis-cli -h cache -a {} ping", PASSWORD),
    "redis-cli key": ("redis-cli -a {}", KEY),
    "REDISCLI_AUTH": ("REDISCLI_AUTH={} redis-cli", PASSWORD),
    "docker login": ("docker login -u ada -p {} registry.example.org", PASSWORD),
    "docker login signs": ('docker login registry.example.org -u ada -p "{}"', SIGNED),
    "podman login": ("podman login -u=ada -p={} quay.io", PASSWORD),
    "helm registry login": ("helm registry login r.example.org -u ada -p {}", PASSWORD),
    "docker login stdin": ("echo {} | docker login -u ada --password-stdin", PASSWORD),
    "az login": ("az login --service-principal -u app -p {} --tenant x", KEY),
    "smbclient": ("smbclient //nas/photos -U ada%{}", PASSWORD),
    "ldapsearch": ("ldapsearch -x -D cn=admin,dc=example -w {} -b dc=example", PASSWORD),
    "openssl passin": ("openssl rsa -in a.pem -passin pass:{} -out b.pem", PASSWORD),
    "gpg passphrase": ("gpg --batch --passphrase '{}' -c notes.tar", SIGNED),
    "zip -P": ("zip -r -P {} a.zip a/", PASSWORD),
    "unzip -P": ("unzip -P {} a.zip", PASSWORD),
    "7z -p": ("7z x -p{} a.7z", PASSWORD),
    "rar -hp": ("rar a -hp{} a.rar a/", PASSWORD),
    "sudo -S": ("echo '{}' | sudo -S apt-get update", PASSWORD),
    "chpasswd": ("echo 'ada:{}' | chpasswd", PASSWORD),
    "htpasswd -b": ("htpasswd -bB /etc/nginx/users ada {}", PASSWORD),
    "mongosh": ("mongosh -u ada -p {} --authenticationDatabase admin", PASSWORD),
    "mongodump": ("mongodump --host db -u ada -p '{}' --out d", SIGNED),
    "sqlcmd": ("sqlcmd -S db -U sa -P {}", SIGNED),
    "sqlplus": ("sqlplus scott/{}@db.example.org:1521/x", PASSWORD),
    "rabbitmqctl add_user": ("rabbitmqctl add_user ada {}", PASSWORD),
    "rabbitmqctl change_password": ("rabbitmqctl change_password ada {}", PASSWORD),
    "ipmitool": ("ipmitool -I lanplus -H bmc -U ADMIN -P {} power on", PASSWORD),
    "xfreerdp": ("xfreerdp /v:win /u:ada /p:{}", PASSWORD),
    "nmcli": ("nmcli dev wifi connect Harbour password {}", PASSWORD),
    "wpa_passphrase command": ("wpa_passphrase Harbour {}", PASSWORD),
    "from-literal": ("kubectl create secret generic x --from-literal=password={}", PASSWORD),
    "ansible become": ("ansible_become_pass={}", PASSWORD),
    "ansible ssh": ("ansible_ssh_pass: {}", PASSWORD),
    "vault kv": ("vault kv put secret/app password={}", PASSWORD),
    "aws configure set": ("aws configure set aws_secret_access_key {}", strong(B64, 40)),
    "aws configure prompt": (
        "AWS Access Key ID [None]: x\nAWS Secret Access Key [None]: {}",
        strong(B64, 40),
    ),
    "heroku config": ("heroku config:set SESSION_SECRET={}", KEY),
    "fly secrets": ("fly secrets set DB_PASSWORD={}", PASSWORD),
    "SQL alter": ("ALTER USER postgres WITH PASSWORD '{}';", PASSWORD),
    "SQL alter encrypted": ("alter role app with encrypted password '{}'", PASSWORD),
    "SQL identified": ("CREATE USER 'app'@'%' IDENTIFIED BY '{}';", SIGNED),
    "SQL identified with": (
        "ALTER USER root@localhost IDENTIFIED WITH mysql_native_password BY '{}';",
        PASSWORD,
    ),
    "SQL set password": ("SET PASSWORD FOR 'ada'@'%' = PASSWORD('{}');", PASSWORD),
    "SQL login": ("CREATE LOGIN ada WITH PASSWORD = N'{}';", SIGNED),
    "net user": ("net user ada {} /add", PASSWORD),
    "net use": ("net use Z: \\\\nas\\photos /user:ada {}", PASSWORD),
    "PowerShell": ('ConvertTo-SecureString "{}" -AsPlainText -Force', SIGNED),
    "cmdkey": ("cmdkey /add:nas /user:ada /pass:{}", PASSWORD),
    "mosquitto_pub": ("mosquitto_pub -h broker -u ada -P {} -t a -m b", PASSWORD),
    "lftp": ("lftp -u ada,{} sftp://pier", PASSWORD),
    "cqlsh": ("cqlsh -u cassandra -p {} db", PASSWORD),
    "ssh-keygen": ("ssh-keygen -t ed25519 -N '{}' -f id", PASSWORD),
    "keytool": ("keytool -importkeystore -storepass {} -alias x", PASSWORD),
    "mvn": ("mvn deploy -Dgpg.passphrase={}", PASSWORD),
    "cryptsetup": ("echo -n '{}' | cryptsetup luksOpen /dev/sdb1 x -", SIGNED),
    "BORG_PASSPHRASE": ("export BORG_PASSPHRASE='{}'", SIGNED),
    "RESTIC_PASSWORD": ("RESTIC_PASSWORD={} restic backup ~", PASSWORD),
    "docker run": ("docker run -e POSTGRES_PASSWORD={} -d postgres", PASSWORD),
    "docker root": ("docker run -d -e MYSQL_ROOT_PASSWORD={} mysql:9", SIGNED),
    "redis-server": ("redis-server --requirepass {}", PASSWORD),
    "redis.conf": ("requirepass {}", PASSWORD),
    "redis.conf master": ("masterauth {}", PASSWORD),
    "Cisco": ("username admin privilege 15 password 0 {}", PASSWORD),
    "Cisco enable": ("enable secret {}", PASSWORD),
    "npm config": ("npm config set //registry.npmjs.org/:_authToken {}", secrets.some_uuid),
    "ngrok": ("ngrok config add-authtoken 2{}", strong(ALNUM, 48)),
    "wandb login": ("wandb login {}", of(HEX, 40)),
    "cloudflared": ("cloudflared service install {}", form("eyJ", "hIjoi", of(ALNUM, 120))),
    "gh secret": ("gh secret set DEPLOY_KEY --body '{}'", KEY),
    "mount cifs": ("mount -t cifs //nas/x /mnt -o username=ada,password={}", PASSWORD),
    "influx": ("influx -username ada -password {}", PASSWORD),
    "snmpwalk": ("snmpwalk -v3 -l authPriv -u ada -a SHA -A {} -x AES host", PASSWORD),
}
"""What is typed into a shell."""

FILES: Mapping[str, tuple[str, Make]] = {
    "netrc": ("machine api.example.org login ada password {}", PASSWORD),
    "netrc lines": ("machine api.example.org\n  login ada\n  password {}", SIGNED),
    "netrc key": ("machine git.example.org login ada password {}", KEY),
    "pgpass": ("db.example.org:5432:harbour:app:{}", PASSWORD),
    "pgpass any": ("*:*:*:postgres:{}", SIGNED),
    "htpasswd bcrypt": ("ada:{}", form("$2y$05$", of(ALNUM + "./", 53))),
    "htpasswd apr1": ("ada:{}", form("$apr1$", of(ALNUM, 8), "$", of(ALNUM + "./", 22))),
    "htpasswd sha": ("ada:{}", form("{SHA}", key_data(20))),
    "shadow": ("root:{}:19700:0:99999:7:::", form("$6$", of(ALNUM, 16), "$", of(ALNUM + "./", 86))),
    "yescrypt": ("ada:{}:20000::::::", form("$y$j9T$", of(ALNUM, 22), "$", of(ALNUM + "./", 43))),
    "docker auth": ('{"auths": {"r.example.org": {"auth": "{}"}}}', _LOGIN),
    "docker auth pretty": ('"registry.example.org": {\n  "auth": "{}"\n}', _LOGIN),
    "DOCKER_AUTH_CONFIG": ('DOCKER_AUTH_CONFIG=\'{"auths":{"r.io":{"auth":"{}"}}}\'', _LOGIN),
    "dockerconfigjson": (
        ".dockerconfigjson: {}",
        _base64(form('{"auths":{"r.example.org":{"auth":"', _LOGIN, '"}}}')),
    ),
    "identitytoken": ('"identitytoken": "{}"', KEY),
    "npmrc token": ("//registry.npmjs.org/:_authToken={}", secrets.some_uuid),
    "npmrc auth": ("//npm.example.org/:_auth={}", _LOGIN),
    "npmrc password": ("//npm.example.org/:_password={}", _base64(PASSWORD)),
    "yarnrc": ("npmAuthToken: {}", secrets.some_uuid),
    "pypirc": ("[pypi]\nusername = ada\npassword = {}", SIGNED),
    "my.cnf": ("[client]\nuser=root\npassword={}", PASSWORD),
    "psk": ('ssid="Harbour"\npsk="{}"', SIGNED),
    "psk hex": ("psk={}", of(HEX, 64)),
    "psk plain": ("psk={}", PASSWORD),
    "wifi code": ("WIFI:T:WPA;S:Harbour;P:{};;", PASSWORD),
    "wifi code first": ("WIFI:S:Harbour;T:WPA;P:{};H:false;;", PASSWORD),
    "hostapd": ("wpa_passphrase={}", PASSWORD),
    "wep_key": ("wep_key0={}", of(HEX, 26)),
    "WireGuard": ("[Interface]\nPrivateKey = {}", key_data(32)),
    "WireGuard shared": ("PresharedKey = {}", key_data(32)),
    "OpenVPN static": (
        "{}",
        lambda dice: "\n".join(
            (
                "-----BEGIN OpenVPN Static key V1-----",
                *(of(HEX, 32)(dice) for _ in range(16)),
                "-----END OpenVPN Static key V1-----",
            )
        ),
    ),
    "PuTTY": ("PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n{}", key_data(36)),
    "PEM in one line": ("{}", _pem("RSA PRIVATE KEY", " ")),
    "PEM without breaks": ("{}", _pem("EC PRIVATE KEY", "", 120)),
    "OpenSSH in one line": ("{}", _pem("OPENSSH PRIVATE KEY", " ")),
    "PGP in one line": ("{}", _pem("PGP PRIVATE KEY BLOCK", " ")),
    "PEM in JSON": ('"private_key": "{}"', _pem("PRIVATE KEY", "\\n")),
    "PEM encrypted": ("{}", _pem("ENCRYPTED PRIVATE KEY", "\n")),
    "kubectl data": ("data:\n  password: {}", _base64(PASSWORD)),
    "kubectl data of a token": ("data:\n  token: {}", _base64(KEY)),
    "kubectl tls": ("data:\n  tls.key: {}", _base64(_pem("PRIVATE KEY", "\n", 60))),
    "kubectl string": ("stringData:\n  db-password: {}", PASSWORD),
    "kubeconfig": ("client-key-data: {}", _base64(_pem("RSA PRIVATE KEY", "\n", 60))),
    "ODBC": ("Driver=PostgreSQL;Server=db;Uid=app;Pwd={};", PASSWORD),
    "ADO.NET": ("Server=db;Database=x;User Id=sa;Password={};Encrypt=true", PASSWORD),
    "JDBC query": ("jdbc:mysql://db:3306/x?user=app&password={}", PASSWORD),
    "JDBC SQL Server": ("jdbc:sqlserver://db:1433;user=sa;password={};", PASSWORD),
    "JDBC Oracle": ("jdbc:oracle:thin:scott/{}@//db.example.org:1521/x", PASSWORD),
    "address of AMQP": ("amqps://app:{}@mq.example.org/v", PASSWORD),
    "address of SMTP": ("smtps://ada%40example.org:{}@smtp.example.org:465", PASSWORD),
    "service bus": (
        "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={}",
        key_data(32),
    ),
    "SAS": (
        "https://x.blob.core.windows.net/c?sv=2024-11-04&se=2027-01-01&sp=r&sig={}",
        form(strong(ALNUM, 43), "%3D"),
    ),
    "presigned": (
        "https://b.s3.amazonaws.com/k?X-Amz-Date=20260101T000000Z&X-Amz-Signature={}",
        of(HEX, 64),
    ),
    "AWS_SESSION_TOKEN": ("AWS_SESSION_TOKEN={}", strong(B64, 200)),
    "otpauth": ("otpauth://totp/Harbour:ada?secret={}&issuer=Harbour", of(BASE32, 32)),
    "otpauth short": ("otpauth://totp/ada?issuer=X&secret={}", of(BASE32, 16)),
    "TOTP": ("TOTP secret: {}", of(BASE32, 32)),
    "2FA seed": ("2FA seed: {}", of(BASE32, 16)),
    "2FA in groups": (
        "2FA secret: {}",
        form(of(BASE32, 4), " ", of(BASE32, 4), " ", of(BASE32, 4), " ", of(BASE32, 4)),
    ),
    "MFA setup key": ("MFA setup key: {}", of(BASE32, 32)),
    "recovery codes": (
        "Recovery codes:\n\n{}",
        lambda dice: "\n".join(
            f"{of(HEX, 5)(dice)}-{of(HEX, 4)(dice)}{dice.choice(DIGITS)}" for _ in range(8)
        ),
    ),
    "backup codes": (
        "Backup codes: {}",
        lambda dice: ", ".join(of(LOWER + DIGITS, 9)(dice) + "7" for _ in range(6)),
    ),
    "backup codes of digits": (
        "GitHub 2FA backup codes\n{}",
        lambda dice: "\n".join(f"- {of(DIGITS, 4)(dice)} {of(DIGITS, 4)(dice)}" for _ in range(8)),
    ),
    "cookie": ("Cookie: sessionid={}", strong(LOWER + DIGITS, 32)),
    "cookie among others": ("Cookie: lang=de; sid={}; theme=dark", KEY),
    "set-cookie": ("Set-Cookie: connect.sid=s%3A{}; Path=/; HttpOnly", KEY),
    "curl cookie": ("curl -b 'SESSION={}' https://x.example.org", KEY),
    "PHPSESSID": ("PHPSESSID={}", strong(LOWER + DIGITS, 26)),
    "JSESSIONID": ("JSESSIONID={}", of(UPPER, 32)),
    "APP_KEY": ("APP_KEY=base64:{}", key_data(32)),
    "RAILS_MASTER_KEY": ("RAILS_MASTER_KEY={}", of(HEX, 32)),
    "WordPress": ("define('DB_PASSWORD', '{}');", PASSWORD),
    "WordPress salt": (
        "define('SECURE_AUTH_KEY', '{}');",
        strong(ALNUM + "!@#$%^&*()-_[]{}<>~+=,.;:/?|", 64),
    ),
    "APP_SECRET": ("APP_SECRET={}", of(HEX, 32)),
    "NEXTAUTH_SECRET": ('NEXTAUTH_SECRET="{}"', key_data(32)),
    "FERNET_KEY": ("FERNET_KEY={}", form(strong(WORD, 43), "=")),
    "SMTP_PASS": ("SMTP_PASS={}", PASSWORD),
    "Spring": ("spring.datasource.password={}", PASSWORD),
    "web.config": (
        '<add name="x" connectionString="Server=db;User Id=sa;Password={}" />',
        PASSWORD,
    ),
    "Maven settings": ("<server><id>x</id><password>{}</password></server>", PASSWORD),
    "keyPassword": ("keyPassword={}", PASSWORD),
    "tfvars": ('db_password = "{}"', SIGNED),
    "UUID as key": ("PINECONE_API_KEY={}", secrets.some_uuid),
    "UUID as token": ("HEROKU_API_TOKEN: {}", secrets.some_uuid),
    "DD_APP_KEY": ("DD_APP_KEY={}", of(HEX, 40)),
    "application key": ("application_key: {}", KEY),
    "ssh_pass": ("ssh_pass: {}", PASSWORD),
    "SIP": ("[1001]\ntype=friend\nsecret={}", PASSWORD),
    "Kaggle": ('{"username":"ada","key":"{}"}', of(HEX, 32)),
    "basic short": ("Authorization: Basic {}", _LOGIN),
    "basic alone": (
        "curl -H 'Authorization: Basic {}' https://x.example.org",
        _base64(form("ada:", _spoken)),
    ),
    "x-auth-token": ("X-Auth-Token: {}", KEY),
    "private token": ("PRIVATE-TOKEN: {}", strong(WORD, 20)),
    "SSWS": ("Authorization: SSWS 00{}", strong(WORD, 40)),
    "digest of AWS": ("x-amz-security-token: {}", strong(B64, 120)),
    "private key in hex": ("private key: 0x{}", of(HEX, 64)),
    "PRIVATE_KEY of a wallet": ("PRIVATE_KEY=0x{}", of(HEX, 64)),
    "license key": (
        "License key: {}",
        form(
            of(UPPER, 5), "-", of(UPPER, 5), "-", of(UPPER, 5), "-", of(UPPER, 5), "-", of(UPPER, 5)
        ),
    ),
}
"""What stands in files of settings, and in headers."""

PROSE: Mapping[str, tuple[str, Make]] = {
    "login slash": ("login: admin / {}", PASSWORD),
    "credentials slash": ("Credentials: admin / {}", SIGNED),
    "user and pass": ("user: admin pass: {}", PASSWORD),
    "user and password": ("username admin, password {}", PASSWORD),
    "password without a sign": ("Router password {}", SIGNED),
    "pw without a sign": ("router pw {}", PASSWORD),
    "as the password": ("use {} as the password", PASSWORD),
    "password spoken": ("The admin password is {}", _spoken),
    "password changed": ("I changed the password to {}", PASSWORD),
    "password set": ("set its password to {}", SIGNED),
    "new password": ("New password for the NAS: {}", _spoken),
    "German wifi": ("Das WLAN-Passwort lautet: {}", PASSWORD),
    "German server": ("Das Kennwort für den Server ist {}", _spoken),
    "German access": ("Zugangsdaten: ada / {}", PASSWORD),
    "German named": ("Das neue Passwort heißt {}", PASSWORD),
    "German wifi key": ("WLAN-Schlüssel: {}", PASSWORD),
    "German login": ("Benutzer: ada, Passwort {}", PASSWORD),
    "French colon": ("Mot de passe : {}", PASSWORD),
    "French short": ("mdp : {}", PASSWORD),
    "French wifi": ("Le mot de passe du wifi est {}", PASSWORD),
    "French wifi key": ("Clé WiFi : {}", PASSWORD),
    "French access": ("Identifiants : ada / {}", PASSWORD),
    "Spanish key": ("clave: {}", PASSWORD),
    "Spanish wifi": ("la clave del wifi es {}", PASSWORD),
    "Spanish server": ("La contraseña del servidor es {}", PASSWORD),
    "Portuguese": ("a senha do wifi é {}", PASSWORD),
    "Italian wifi": ("la password del wifi è {}", PASSWORD),
    "Dutch": ("het wachtwoord is {}", PASSWORD),
    "Polish": ("hasło: {}", PASSWORD),
    "Polish to": ("Hasło do routera to {}", PASSWORD),
    "Swedish": ("lösenordet är {}", PASSWORD),
    "Danish": ("adgangskode: {}", PASSWORD),
    "Danish code": ("kodeord: {}", PASSWORD),
    "Norwegian": ("passord: {}", PASSWORD),
    "Norwegian is": ("passordet er {}", PASSWORD),
    "Finnish": ("salasana on {}", PASSWORD),
    "Czech": ("heslo: {}", PASSWORD),
    "Czech is": ("heslo je {}", PASSWORD),
    "Hungarian": ("jelszó: {}", PASSWORD),
    "Romanian": ("parola este {}", PASSWORD),
    "Turkish": ("şifre: {}", PASSWORD),
    "Turkish wifi": ("WiFi şifresi: {}", PASSWORD),
    "Greek": ("κωδικός πρόσβασης: {}", PASSWORD),
    "Ukrainian": ("Пароль від роутера: {}", PASSWORD),
    "Bulgarian": ("парола: {}", PASSWORD),
    "Hebrew": ("הסיסמה היא {}", PASSWORD),
    "Hindi": ("पासवर्ड {} है", PASSWORD),
    "Thai": ("รหัสผ่านคือ {}", PASSWORD),
    "Vietnamese": ("mật khẩu: {}", PASSWORD),
    "Vietnamese is": ("Mật khẩu là {}", PASSWORD),
    "Indonesian": ("kata sandi: {}", PASSWORD),
    "Japanese colon": ("パスワード: {}", PASSWORD),
    "Japanese quoted": ("パスワードは「{}」です", PASSWORD),
    "Japanese wifi": ("Wi-Fiの暗号化キー：{}", PASSWORD),
    "Chinese wifi": ("WiFi密码：{}", PASSWORD),
    "Chinese account": ("账号 admin 密码 {}", PASSWORD),
    "Korean": ("비번: {}", PASSWORD),
    "passphrase English": ("The passphrase is {}", words("English", 5)),
    "passphrase colon": ("Passphrase: {}", words("English", 6)),
    "passphrase quoted": ('passphrase = "{}"', words("English", 4)),
    "passphrase hyphens": ("passphrase: {}", words("English", 5, "-")),
    "password of words": ("password: {}", words("English", 4, "-")),
    "password of dots": ("password: {}", words("English", 4, ".")),
    "password of quoted words": ('The password is "{}"', words("English", 4)),
    "passphrase of a disk": ("LUKS passphrase for the laptop: {}", words("English", 6)),
    "passphrase German": ("Die Passphrase lautet {}", words("German", 5)),
    "passphrase German colon": ("Passphrase: {}", words("German", 4)),
    "passphrase German phrase": ("Passwortsatz: {}", words("German", 5)),
    "passphrase French": ("La phrase secrète est {}", words("French", 5)),
    "passphrase French colon": ("Phrase de passe : {}", words("French", 4)),
    "passphrase Spanish": ("La frase de contraseña es {}", words("Spanish", 5)),
    "passphrase Spanish colon": ("Frase secreta: {}", words("Spanish", 4)),
    "passphrase Japanese": ("パスフレーズ：{}", words("Japanese", 5)),
    "passphrase Japanese is": ("パスフレーズは「{}」です", words("Japanese", 4)),
    "seed phrase": ("Seed phrase: {}", _seed(" ")),
    "recovery phrase": ("Recovery phrase:\n\n{}", _seed(" ")),
    "mnemonic": ('mnemonic = "{}"', _seed(" ")),
    "mnemonic lines": ("My mnemonic:\n{}", _seed("\n")),
    "seed words": ("Seed words: {}", _seed(", ")),
}
"""What is said."""

MORE: Mapping[str, tuple[str, Make]] = {
    "vnc pasted": ("x11vnc -passwd {}", PASSWORD),
    "expect send pasted": ('send "password {}\\r"', PASSWORD),
    "bw pasted": ("bw login ada@example.org {}", PASSWORD),
    "svn pasted": ("svn co --username ada --password {} https://svn", PASSWORD),
    "rclone pasted": ("rclone config create nas webdav pass={}", PASSWORD),
    "kubectl literal pasted": (
        "kubectl create secret generic db --from-literal=POSTGRES_PASSWORD={}",
        SIGNED,
    ),
    "docker compose pasted": ("      MYSQL_PASSWORD: {}", PASSWORD),
    "compose list pasted": ("      - REDIS_PASSWORD={}", PASSWORD),
    "systemd pasted": ("Environment=DB_PASS={}", PASSWORD),
    "dockerfile pasted": ("ENV API_TOKEN={}", KEY),
    "fstab pasted": ("//nas/x /mnt cifs username=ada,password={},uid=1000 0 0", PASSWORD),
    "postfix sasl pasted": ("[smtp.example.org]:587 ada@example.org:{}", PASSWORD),
    "msmtprc pasted": ("account x\nuser ada\npassword {}", PASSWORD),
    "offlineimap pasted": ("remotepass = {}", PASSWORD),
    "django db pasted": ("'PASSWORD': '{}',", PASSWORD),
    "rails secret pasted": ("secret_key_base: {}", of(HEX, 128)),
    "laravel pasted": ('DB_PASSWORD="{}"', SIGNED),
    "grafana ini pasted": ("admin_password = {}", PASSWORD),
    "prometheus pasted": ("basic_auth:\n  username: ada\n  password: {}", PASSWORD),
    "nginx pasted": ('proxy_set_header Authorization "Basic {}";', _LOGIN),
    "haproxy pasted": ("user ada insecure-password {}", PASSWORD),
    "mosq conf pasted": ("listener 1883\npassword {}", PASSWORD),
    "ipsec pasted": (': PSK "{}"', PASSWORD),
    "radius pasted": ("client x { secret = {} }", PASSWORD),
    "ldap conf pasted": ("bindpw {}", PASSWORD),
    "sssd pasted": ("ldap_default_authtok = {}", PASSWORD),
    "jenkins pasted": ("JENKINS_API_TOKEN={}", of(HEX, 34)),
    "gitlab ci pasted": ("curl --header 'PRIVATE-TOKEN: {}' https://gitlab", strong(WORD, 20)),
    "jira pasted": ("ATLASSIAN_TOKEN={}", strong(ALNUM, 24)),
    "azure sp pasted": ('"clientSecret": "{}"', strong(WORD, 40)),
    "twilio pasted": ("TWILIO_AUTH_TOKEN={}", of(HEX, 32)),
    "sendgrid pasted": ("SENDGRID_API_KEY={}", KEY),
    "clickhouse pasted": ("clickhouse-client --password {}", PASSWORD),
    "elastic pasted": ("curl -k -u elastic:{} https://localhost:9200", PASSWORD),
    "kibana pasted": ('elasticsearch.password: "{}"', PASSWORD),
    "neo4j pasted": ("NEO4J_AUTH=neo4j/{}", PASSWORD),
    "minio pasted": ("MINIO_ROOT_PASSWORD={}", PASSWORD),
    "argocd pasted": ("argocd login x --username admin --password {}", PASSWORD),
    "vault unseal pasted": ("Unseal Key 1: {}", key_data(33)),
    "consul pasted": ("CONSUL_HTTP_TOKEN={}", secrets.some_uuid),
    "filevault pasted": (
        "FileVault recovery key: {}",
        lambda dice: "-".join(of(UPPER, 4)(dice) for _ in range(6)),
    ),
    "apple app pw pasted": (
        "app-specific password: {}",
        lambda dice: "-".join(of(LOWER, 4)(dice) for _ in range(4)),
    ),
    "google app pw pasted": (
        "Google app password: {}",
        lambda dice: " ".join(of(LOWER, 4)(dice) for _ in range(4)),
    ),
    "steam guard pasted": ("shared_secret: {}", key_data(20)),
    "ssh pass prose pasted": ("ssh root@10.0.0.5 with password {}", PASSWORD),
    "router prose pasted": ("Router: admin / {}", PASSWORD),
    "nas login pasted": ("NAS login ada:{}", PASSWORD),
    "netflix pasted": ("Netflix: ada@example.org / {}", _spoken),
    "german pw colon pasted": ("Neues PW: {}", _spoken),
    "german zugang pasted": ("Zugang zum NAS: ada / {}", PASSWORD),
    "german wlan pasted": ("WLAN Gast: {}", PASSWORD),
    "french pasted": ("Le nouveau mot de passe : {}", _spoken),
    "spanish pasted": ("La nueva contraseña es {}", _spoken),
    "italian pasted": ("La nuova password è {}", _spoken),
    "dutch pasted": ("Nieuw wachtwoord: {}", _spoken),
    "japanese pasted": ("新しいパスワードは {} です", PASSWORD),
    "chinese pasted": ("新密码：{}", PASSWORD),
    "korean pasted": ("새 비밀번호: {}", PASSWORD),
    "russian pasted": ("Новый пароль: {}", PASSWORD),
    "arabic pasted": ("كلمة المرور: {}", PASSWORD),
    "phrase disk pasted": ("Disk encryption passphrase = {}", words("English", 6)),
    "phrase ssh pasted": ("the ssh key passphrase: {}", words("English", 5)),
    "phrase gpg de pasted": ("GPG-Passphrase: {}", words("German", 5)),
    "phrase wallet pasted": ("Wallet recovery phrase (12 words): {}", _seed(" ")),
    "cf cookie pasted": ("Cookie: cf_clearance={}", strong(WORD, 60)),
    "bearer lower pasted": ("authorization: bearer {}", KEY),
    "x-api pasted": ("x-api-key: {}", KEY),
    "apikey query pasted": ("https://api.example.org/v1?apikey={}", KEY),
    "appid pasted": ("https://api.openweathermap.org/data?appid={}", of(HEX, 32)),
    "pfx pasted": ("openssl pkcs12 -export -passout pass:{}", PASSWORD),
    "keystore pasted": ("storePassword={}", PASSWORD),
    "android pasted": ("keyAlias=x\nkeyPassword={}", PASSWORD),
}
"""Commands, settings and prose that were written after the rules of the others."""

TOKENS: Mapping[str, Make] = {
    "slack browser": form("xo", "xc-", of(DIGITS, 11), "-", of(DIGITS, 12), "-", of(HEX, 64)),
    "slack cookie": form("xo", "xd-", strong(ALNUM, 100)),
    "gitlab workspace": form("gl", "wt-", strong(WORD, 20)),
    "gemini": form("A", "Q.Ab8", strong(WORD, 47)),
    "google refresh": form("1/", "/0", strong(WORD, 90)),
    "azure openai": form(strong(ALNUM, 52), "JQQ", "J99", of(UPPER, 4), "AC", strong(ALNUM, 22)),
    "azure function": form(strong(WORD, 44), "Az", "Fu", strong(ALNUM, 5), "A=="),
    "facebook of today": form("EA", "A", strong(ALNUM, 170)),
    "claude oauth": form("sk-", "ant-", "oat01-", strong(WORD, 93), "AA"),
    "claude session": form("sk-", "ant-", "sid01-", strong(WORD, 86), "-", of(WORD, 6), "AA"),
}
"""Further tokens of services whose others are in `tests/secrets.py`."""

TABLES = (COMMANDS, FILES, PROSE, MORE)
