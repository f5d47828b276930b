"""How Chromium is started, and above all what keeps it from going anywhere by itself."""

from __future__ import annotations

UDP = "disable_non_proxied_udp"

# The only way out is a context's own proxy; by ablation the first two matter, the others stand behind them.
WALLS = (
    "--proxy-bypass-list=<-loopback>",  # else Chromium goes to loopback without asking its proxy
    f"--force-webrtc-ip-handling-policy={UDP}",  # what the headless shell obeys
    f"--webrtc-ip-handling-policy={UDP}",  # what full Chromium obeys
    "--disable-quic",
    "--block-new-web-contents",  # window.open comes to nothing
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",  # it has no names to look up
)

QUIET = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--no-service-autorun",
    "--no-startup-window",
    "--mute-audio",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-client-side-phishing-detection",
    "--disable-default-apps",
    "--disable-dev-shm-usage",  # containers have 64 MB of it
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-field-trial-config",
    "--disable-gpu",
    "--disable-sync",
    "--password-store=basic",
    "--use-mock-keychain",
)

OFF = (
    "BackForwardCache",
    "DestroyProfileOnBrowserClose",
    "DialMediaRouteProvider",
    "HttpsUpgrades",
    "MediaRouter",
    "OptimizationHints",
    "PaintHolding",
    "SpareRendererForSitePerProcess",
    "Translate",
)

# A page in the background is as good as one in front, and a page that nobody asks for is not prepared.
STEADY = (
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-ipc-flooding-protection",
    "--disable-renderer-backgrounding",
    f"--disable-features={','.join(OFF)}",
)

FLAGS = (*QUIET, *STEADY, *WALLS)
