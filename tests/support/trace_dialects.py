"""What traceroute, mtr, tracepath and ping print on many systems, in few lines, with the right values."""

GW, NEXT, END = "198.51.100.1", "203.0.113.1", "192.0.2.80"
LINUX = f"traceroute to {END} ({END}), 30 hops max, 60 byte packets\n"

TRACES = {
    "Linux with AS numbers, MPLS labels and !X": (
        f"traceroute to example.net ({END}), 30 hops max, 60 byte packets\n"
        f" 1  gw ({GW}) [AS64500]  0.412 ms  0.401 ms  0.398 ms\n 2  * * *\n"
        f" 3  core ({NEXT}) [AS64501] <MPLS:L=24012,E=0,S=1,T=1>  10.2 ms  10.1 ms 203.0.113.2 (203.0.113.2)  9.4 ms\n"
        f" 4  203.0.113.9 (203.0.113.9) [*]  20.1 ms !X  20.3 ms !X *\n"
        f" 5  example.net ({END})  30.5 ms !H  30.4 ms *\n",
        [0.398, None, 9.4, 20.1, 30.4],
    ),
    "BSD with a second router at a hop": (
        f"traceroute to example.net ({END}), 64 hops max, 52 byte packets\n 1  gw.home ({GW})  2.3 ms  1.2 ms  1.1 ms\n"
        f" 2  {NEXT} ({NEXT})  9.9 ms\n    203.0.113.5 (203.0.113.5)  10.2 ms  9.1 ms\n"
        f" 3  {END} ({END})  21 ms  20.9 ms\n",
        [1.1, 9.1, 20.9],
    ),
    "macOS with MPLS": (
        f"{LINUX} 1  {GW}  1.2 ms  1.1 ms  1.0 ms\n 2  {NEXT}  9.9 ms  9.8 ms\n"
        f"     MPLS Label=16012 CoS=0 TTL=1 S=1\n 3  {END}  21 ms\n",
        [1.0, 9.8, 21],
    ),
    "Juniper": (
        f"user@mx> traceroute {END} no-resolve\ntraceroute to {END} ({END}), 30 hops max, 52 byte packets\n"
        f" 1  {GW}  0.5 ms  0.4 ms\n 2  {NEXT}  10.5 ms\n     MPLS Label=299824 CoS=0 TTL=1 S=1\n"
        f" 3  {END}  20.5 ms\n\nuser@mx>\n",
        [0.4, 10.5, 20.5],
    ),
    "Cisco IOS": (
        f"Router#traceroute {END}\nType escape sequence to abort.\nTracing the route to example.net ({END})\n"
        f"VRF info: (vrf in name/id, vrf out name/id)\n  1 {GW} 4 msec 0 msec 4 msec\n"
        f"  2 {NEXT} [MPLS: Label 16005 Exp 0] 20 msec 20 msec 24 msec\n  3 203.0.113.5 [AS 64501] 30 msec\n"
        f"    203.0.113.6 [AS 64501] 32 msec\n    203.0.113.5 [AS 64501] 28 msec\n  4  *  *  *\n"
        f"  5 {END} 40 msec *  40 msec\n",
        [0.5, 20, 28, None, 40],
    ),
    "Cisco IOS XR": (
        f"RP/0/RP0/CPU0:r1#traceroute {END}\nThu Nov 26 10:00:00.000 UTC\n\nType escape sequence to abort.\n"
        f"Tracing the route to {END}\n\n 1  {GW} [MPLS: Label 24001 Exp 0] 3 msec  2 msec  2 msec \n"
        f" 2  {END} 12 msec  *  11 msec \n",
        [2, 11],
    ),
    "Windows in French": (
        f"\nDétermination de l'itinéraire vers example.net [{END}]\navec un maximum de 30 sauts :\n\n"
        f"  1    <1 ms    <1 ms    <1 ms  192.168.0.1 \n  2     8 ms     9 ms     8 ms  gw.example.org [{GW}] \n"
        f"  3     *        *        *     Délai d'attente de la demande dépassé.\n"
        f"  4    23 ms    24 ms    23 ms  example.net [{END}] \n",
        [0.5, 8, None, 23],
    ),
    "Windows in Spanish, without names": (
        f"\nTraza a la dirección example.net [{END}]\nsobre un máximo de 30 saltos:\n\n"
        f"  1     8 ms     *        9 ms  {GW} \n"
        f"  2    23 ms    24 ms    23 ms  {END} \n\nTraza completa.\n",
        [8, 23],
    ),
    "Windows to an address": (
        f"\nTracing route to {END} over a maximum of 30 hops\n\n  1    <1 ms    <1 ms    <1 ms  {GW}\n"
        f"  2    23 ms  24 ms  *  {END}\n",
        [0.5, 23],
    ),
    "Windows in Japanese": (
        f"\nexample.net [{END}] へのルートをトレースしています\n経由するホップ数は最大 30 です:\n\n"
        f"  1    <1 ms    <1 ms    <1 ms  {GW}\n  2    23 ms    24 ms    23 ms  example.net [{END}]\n\n"
        "トレースを完了しました。\n",
        [0.5, 23],
    ),
    "Windows in Russian": (
        f"\nТрассировка маршрута к example.net [{END}]\nс максимальным числом прыжков 30:\n\n"
        f"  1    <1 мс    <1 мс    <1 мс  {GW}\n"
        f"  2     *        *        *     Превышен интервал ожидания для запроса.\n"
        f"  3    23 ms    24 ms    23 ms  {END}\n\nТрассировка завершена.\n",
        [0.5, None, 23],
    ),
    "Windows in Chinese, with its own unit": (
        f"\n通过最多 30 个跃点跟踪\n到 example.net [{END}] 的路由:\n\n  1    <1 毫秒   <1 毫秒   <1 毫秒 {GW} \n"
        f"  2     *        *        *     请求超时。\n  3    23 ms    24 ms    23 ms  example.net [{END}] \n\n",
        [0.5, None, 23],
    ),
    "Windows in Chinese, code page 936, to an address": (
        f"\n通过最多 30 个跃点跟踪到 {END} 的路由\n\n  1    <1 毫秒   <1 毫秒   <1 毫秒 {GW} \n"
        f"  2    23 ms    24 ms    23 ms  {END} \n\n跟踪完成。\n".encode("gbk"),
        [0.5, 23],
    ),
    "Windows in Russian, code page 866": (
        f"\nТрассировка маршрута к example.net [{END}]\nс максимальным числом прыжков 30:\n\n"
        f"  1    <1 мс    <1 мс    <1 мс  {GW}\n  2    23 ms    24 ms    23 ms  {END}\n".encode("cp866"),
        [0.5, 23],
    ),
    "Juniper with AS numbers": (
        f"traceroute to {END} ({END}), 30 hops max, 52 byte packets\n 1  gw.example.org ({GW})  0.5 ms  0.4 ms\n"
        f" 2  core ({NEXT}) [AS  64501]  10.5 ms  10.4 ms\n     MPLS Label=299824 CoS=0 TTL=1 S=0\n"
        f"     MPLS Label=16 CoS=0 TTL=1 S=1\n 3  * * *\n 4  {END} ({END}) [AS  64502]  20.5 ms  20.4 ms\n",
        [0.4, 10.4, None, 20.4],
    ),
    "Cisco NX-OS": (
        f"traceroute to {END} ({END}), 30 hops max, 40 byte packets\n 1  {GW} ({GW})  1.049 ms  0.77 ms\n"
        f" 2  {NEXT} ({NEXT}) (AS 64501)  10.5 ms  10.4 ms\n      [Label=24002 E=0 TTL=1 S=1]\n"
        f" 3  {END} ({END}) (AS 64502)  20.5 ms *\n",
        [0.77, 10.4, 20.5],
    ),
    "Cisco ASA": (
        f"Type escape sequence to abort.\nTracing the route to {END}\n\n 1  {GW} 0 msec 0 msec 10 msec\n 2   *  *  * \n"
        f" 3  {END} 20 msec 20 msec\n",
        [0.5, None, 20],
    ),
    "busybox": (
        f"traceroute to example.net ({END}), 30 hops max, 46 byte packets\n 1  gw.lan ({GW})  0.005 ms  0.008 ms\n"
        f" 2  *  *  *\n 3  {END} ({END})  20.400 ms  *\n",
        [0.005, None, 20.4],
    ),
    "paris-traceroute, old": (
        f"traceroute [(198.51.100.10:33456) -> ({END}:33457)], protocol udp, algo hopbyhop, duration 5 s\n"
        f" 1  {GW} ({GW})   0.512 ms   0.490 ms \n 2  *  *  *\n 3P {NEXT} ({NEXT})   10.9 ms   10.8 ms\n"
        f" 4  {END} ({END})   34.9 ms \n",
        [0.49, None, 10.8, 34.9],
    ),
    "paris-traceroute, new": (
        f"traceroute to {END} ({END}), 30 hops max, 30 bytes packets\n 1  {GW} ({GW})   0.512 ms   0.490 ms \n"
        f" 2  {END} ({END})   34.9 ms \n",
        [0.49, 34.9],
    ),
    "inetutils": (
        f"traceroute to example.net ({END}), 64 hops max\n  1   {GW}  0.512ms  0.400ms  0.398ms \n"
        f"  2   {END}  20.5ms  20.4ms \n",
        [0.398, 20.4],
    ),
    "inetutils with names": (
        f"traceroute to example.net ({END}), 64 hops max\n  1   {GW} (gw.example.org)  0.512ms  0.400ms \n"
        f"  2   {END} (example.net)  20.5ms  20.4ms \n",
        [0.4, 20.4],
    ),
    "tcptraceroute": (
        "Selected device eth0, address 198.51.100.10, port 51234 for outgoing packets\n"
        f"Tracing the path to example.net ({END}) on TCP port 80 (http), 30 hops max\n 1  {GW}  0.512 ms  0.400 ms\n"
        f" 2  {NEXT}  10.1 ms\n 3  {END} [open]  20.5 ms  20.4 ms\n",
        [0.4, 10.1, 20.4],
    ),
    "Huawei": (
        f"<HUAWEI> tracert {END}\n"
        f" traceroute to  {END}({END}), max hops: 30 ,packet length: 40,press CTRL_C to break \n"
        f" 1 {GW} 10 ms  1 ms  1 ms \n 2 {NEXT} 20 ms  18 ms \n 3 {END} 40 ms  38 ms \n",
        [1, 18, 38],
    ),
    "mtr with AS numbers and names": (
        "Start: 2026-11-26T10:00:00+0000\n"
        "HOST: client.example.org              Loss%   Snt   Last   Avg  Best  Wrst StDev\n"
        f"  1. AS64500  gw.example.org ({GW})   0.0%    10    0.4   0.5   0.4   0.9   0.1\n"
        f"  2. AS???    ???                      100.0    10    0.0   0.0   0.0   0.0   0.0\n"
        f"  3. AS64502  example.net ({END})         0.0%    10   80.3  80.5  80.1  82.0   0.4\n",
        [0.4, None, 80.1],
    ),
    "mtr with MPLS labels": (
        "Start: 2026-11-26T10:00:00+0000\n"
        "HOST: client                      Loss%   Snt   Last   Avg  Best  Wrst StDev\n"
        f"  1.|-- {GW}               0.0%    10    0.4   0.5   0.4   0.9   0.1\n"
        f"        [MPLS: Lbl 24001 TC 0 S u TTL 1]\n        203.0.113.2\n"
        f"  2.|-- {END}                 0.0%    10   80.3  80.5  80.1  82.0   0.4\n",
        [0.4, 80.1],
    ),
    "mtr with other columns": (
        "HOST: client              Loss%  Drop   Rcv   Snt  Last  Best   Avg  Wrst StDev Gmean Jttr Javg Jmax Jint\n"
        f"  1.|-- {GW}        0.0%     0    10    10   0.4   0.4   0.5   0.9   0.1   0.4  0.1  0.1  0.2  0.5\n"
        f"  2.|-- {END}          0.0%     0    10    10  80.3  80.1  80.5  82.0   0.4  80.4  0.1  0.1  0.2  0.5\n",
        [0.4, 80.1],
    ),
    "mtr's screen": (
        f"                             My traceroute  [v0.95]\nclient (198.51.100.10) -> example.net ({END})\n"
        "                                        Packets               Pings\n"
        " Host                                 Loss%   Snt   Last   Avg  Best  Wrst StDev\n"
        f" 1. {GW}                       0.0%    10    0.4   0.5   0.4   0.9   0.1\n 2. (waiting for reply)\n"
        f" 3. {END}                         0.0%    10   80.3  80.5  80.1  82.0   0.4\n",
        [0.4, None, 80.1],
    ),
    "WinMTR": (
        "|------------------------------------------------------------------------------------------|\n"
        "|                                      WinMTR statistics                                   |\n"
        "|                       Host              -   %  | Sent | Recv | Best | Avrg | Wrst | Last |\n"
        "|------------------------------------------------|------|------|------|------|------|------|\n"
        f"|                             {GW} -    0 |   24 |   24 |    2 |    3 |    9 |    2 |\n"
        "|                   No response from host -  100 |    5 |    0 |    0 |    0 |    0 |    0 |\n"
        f"|                               {END} -    0 |   24 |   24 |   20 |   21 |   24 |   21 |\n",
        [2, None, 20],
    ),
    "tracepath with asymmetry and a silent hop": (
        " 1?: [LOCALHOST]                                         pmtu 9000\n 1:  gw.example.org   0.512ms \n"
        f" 1:  gw.example.org   0.398ms \n 2:  {NEXT}   10.105ms asymm  3 \n 3:  no reply\n"
        f" 4:  host.example.net ({END})   25.310ms reached\n     Resume: pmtu 9000 hops 4 back 4 \n",
        [0.398, 10.105, None, 25.31],
    ),
}

PINGS = {
    "busybox": (
        f"PING {END} ({END}): 56 data bytes\n64 bytes from {END}: seq=0 ttl=54 time=40.123 ms\n\n"
        f"--- {END} ping statistics ---\n"
        "2 packets transmitted, 1 packets received, 50% packet loss\n"
        "round-trip min/avg/max = 40.123/40.123/40.123 ms\n",
        (40.123, 2, 1),
    ),
    "Windows in French": (
        f"\nEnvoi d'une requête 'ping' sur example.net [{END}] avec 32 octets de données :\n"
        f"Réponse de {END} : octets=32 temps=40 ms TTL=54\nRéponse de {END} : octets=32 temps=41 ms TTL=54\n\n"
        f"Statistiques Ping pour {END}:\n    Paquets : envoyés = 2, reçus = 2, perdus = 0 (perte 0%),\n"
        "Durée approximative des boucles en millisecondes :\n    Minimum = 40ms, Maximum = 41ms, Moyenne = 40ms\n",
        (40, 2, 0),
    ),
    "Windows in Japanese, code page 932": (
        f"\nexample.net [{END}]に ping を送信しています 32 バイトのデータ:\n"
        f"{END} からの応答: バイト数 =32 時間 =40ms TTL=54\n要求がタイムアウトしました。\n\n{END} の ping 統計:\n"
        "    パケット数: 送信 = 2、受信 = 1、損失 = 1 (50% の損失)、\nラウンド トリップの概算時間 (ミリ秒):\n"
        "    最小 = 40ms、最大 = 40ms、平均 = 40ms\n".encode("cp932"),
        (40, 2, 1),
    ),
    "Windows in Chinese": (
        f"\n正在 Ping example.net [{END}] 具有 32 字节的数据:\n"
        f"来自 {END} 的回复: 字节=32 时间=40ms TTL=54\n请求超时。\n"
        f"\n{END} 的 Ping 统计信息:\n    数据包: 已发送 = 2，已接收 = 1，丢失 = 1 (50% 丢失)，\n"
        "往返行程的估计时间(以毫秒为单位):\n    最短 = 40ms，最长 = 40ms，平均 = 40ms\n",
        (40, 2, 1),
    ),
    "Windows in Russian, code page 866": (
        f"\nОбмен пакетами с example.net [{END}] с 32 байтами данных:\n"
        f"Ответ от {END}: число байт=32 время=40мс TTL=54\n"
        f"Превышен интервал ожидания для запроса.\n\nСтатистика Ping для {END}:\n"
        "    Пакетов: отправлено = 2, получено = 1, потеряно = 1\n    (50% потерь)\n"
        "    Минимальное = 40мсек, Максимальное = 40 мсек, Среднее = 40 мсек\n".encode("cp866"),
        (40, 2, 1),
    ),
    "Windows in Spanish": (
        f"\nHaciendo ping a example.net [{END}] con 32 bytes de datos:\n"
        f"Respuesta desde {END}: bytes=32 tiempo<1m TTL=64\n"
        f"Tiempo de espera agotado para esta solicitud.\n\nEstadísticas de ping para {END}:\n"
        "    Paquetes: enviados = 2, recibidos = 1, perdidos = 1\n    (50% perdidos),\n",
        (0.5, 2, 1),
    ),
    "Linux in French": (
        f"PING example.net ({END}) 56(84) octets de données.\n"
        f"64 octets de example.net ({END}) : icmp_seq=1 ttl=54 temps=40.1 ms\n\n--- statistiques ping example.net ---\n"
        "2 paquets transmis, 1 reçus, 50% paquets perdus, temps 2003 ms\n"
        "rtt min/moy/max/mdev = 40.100/40.100/40.100/0 ms\n",
        (40.1, 2, 1),
    ),
    "Linux in German": (
        f"PING example.net ({END}) 56(84) Bytes an Daten.\n64 Bytes von {END}: icmp_seq=1 ttl=54 Zeit=40,1 ms\n\n"
        "--- example.net Ping-Statistiken ---\n2 Pakete übertragen, 1 empfangen, 50% packet loss, time 2003ms\n"
        "rtt min/avg/max/mdev = 40,100/40,100/40,100/0,000 ms\n",
        (40.1, 2, 1),
    ),
    "Windows below a millisecond": (
        f"\nPinging {END} with 32 bytes of data:\nReply from {END}: bytes=32 time<1ms TTL=64\nRequest timed out.\n\n"
        f"Ping statistics for {END}:\n    Packets: Sent = 2, Received = 1, Lost = 1 (50% loss),\n"
        "    Minimum = 0ms, Maximum = 0ms, Average = 0ms\n",
        (0.5, 2, 1),
    ),
    "summary alone": (
        f"PING example.net ({END}) 56(84) bytes of data.\n\n--- example.net ping statistics ---\n"
        "1000 packets transmitted, 998 received, 0.2% packet loss, time 9990ms\n"
        "rtt min/avg/max/mdev = 40.012/40.162/41.201/0.102 ms, pipe 5\n",
        (40.012, 1000, 2),
    ),
    "lines alone, with times of the clock": (
        f"PING example.net ({END}) 56(84) bytes of data.\n"
        f"[1764151200.123456] 64 bytes from example.net ({END}): icmp_seq=1 ttl=54 time=40.1 ms\n"
        f"[1764151202.123456] 64 bytes from example.net ({END}): icmp_seq=3 ttl=54 time=40.3 ms\n",
        (40.1, 2, 0),
    ),
    "duplicates and errors": (
        f"PING {END} ({END}) 56(84) bytes of data.\n64 bytes from {END}: icmp_seq=1 ttl=54 time=40.1 ms\n"
        f"64 bytes from {END}: icmp_seq=1 ttl=54 time=40.2 ms (DUP!)\n\n--- {END} ping statistics ---\n"
        "1 packets transmitted, 1 received, +1 duplicates, +2 errors, 0% packet loss, time 0ms\n"
        "rtt min/avg/max/mdev = 40.100/40.150/40.200/0.050 ms\n",
        (40.1, 1, 0),
    ),
    "Juniper rapid": (
        f"PING {END} ({END}): 56 data bytes\n!!!!!\n--- {END} ping statistics ---\n"
        "5 packets transmitted, 5 packets received, 0% packet loss\n"
        "round-trip min/avg/max/stddev = 40.112/40.5/41/0.3 ms\n",
        (40.112, 5, 0),
    ),
    "Solaris": (
        f"PING example.net: 56 data bytes\n64 bytes from example.net ({END}): icmp_seq=0. time=40.123 ms\n"
        "----example.net PING Statistics----\n2 packets transmitted, 2 packets received, 0% packet loss\n"
        "round-trip (ms)  min/avg/max/stddev = 40.123/40.162/40.201/0.055\n",
        (40.123, 2, 0),
    ),
    "fping": (
        f"{END} : [0], 64 bytes, 40.1 ms (40.1 avg, 0% loss)\n{END} : [1], 64 bytes, 40.3 ms (40.2 avg, 0% loss)\n\n"
        f"{END} : xmt/rcv/%loss = 2/2/0%, min/avg/max = 40.1/40.2/40.3\n",
        (40.1, 2, 0),
    ),
    "hping3": (
        f"HPING {END} (eth0 {END}): S set, 40 headers + 0 data bytes\n"
        f"len=44 ip={END} ttl=54 DF id=0 sport=80 flags=SA seq=0 win=64240 rtt=40.1 ms\n\n"
        f"--- {END} hping statistic ---\n"
        "1 packets transmitted, 1 packets received, 0% packet loss\nround-trip min/avg/max = 40.1/40.1/40.1 ms\n",
        (40.1, 1, 0),
    ),
}
