"""The words that names, texts and figures of the training data are made of."""

from __future__ import annotations

NOUNS = tuple(
    """anchor apple arrow attic badge bakery ballot bamboo banner barrel basket battery beacon bench berry bishop blanket
    boat bottle bracket branch brass bridge broom bucket buffer button cabin cable camel candle canoe canvas carpet cactus
    castle cedar chapel cheese cherry circle clinic clover coach cobalt comet copper coral cotton cradle crane cricket
    crystal curtain daisy dancer deer delta desk diesel dinner dolphin donkey dragon drum eagle earth echo elbow ember
    engine fabric falcon feather fern ferry fiddle filter flame flour flute forest fossil fountain fridge gallery garage
    ginger glacier goose granite grape guitar hammer harbor harvest hazel helmet heron hornet hotel iron island ivory jacket
    jasmine jewel jungle kettle kiosk ladder lagoon lantern laser lemon library lizard locket lumber magnet mango maple
    marble market meadow melon meteor mirror mosaic motor mountain muffin museum needle nickel oak oasis ocean olive onion
    orbit orchid otter oyster paddle palace panda panther paper parcel parrot pebble pencil pepper piano picnic pigeon
    pillow pirate planet plaster pocket poem pony poplar poster potato prairie pump puzzle quartz rabbit radar radio raven
    ribbon river rocket roof rope rubber saddle sailor salmon sandal satin scarf scooter shadow shelf shovel signal silver
    sketch snail socket spider spoon squirrel stable statue steam stone stove sugar sunset table tailor target temple thistle
    thunder ticket tiger timber toast tractor trumpet tulip tunnel turbine turtle umbrella valley vanilla velvet village
    violin volcano wagon walnut walrus whale wheat whistle willow window winter wizard wolf yarn zebra zipper""".split()
)
OFFICE = tuple(
    """account agenda analysis archive article audit backup balance bill brief budget calendar catalog checklist clients
    comments contract copy cover customers deadlines delivery diary digest draft estimate events expenses export faq feedback
    form glossary guests guide handbook hours ideas import index inventory items journal label ledger letter list log manual
    measurements memo menu message mileage movies names numbers offer order outline overview packing participants payroll
    people pitch plan planner poem preferences prices products profile project protocol quote readme receipt recipe record
    references report request results review roster route sales samples schedule script shifts songs staff stats stock story
    summary survey tasks team template terms tests timeline timesheet translation trip users vendors visits votes wages
    wishlist workout""".split()
)
CODE = tuple(
    """adapter api app auth base batch bin boot build cache chart client cli codec color common config core cron data db
    debug decode deploy device docs driver encode engine entry env error event export feed fetch filter flags format gateway
    graph handler hash helper hooks http image index init input io job json kernel layout lexer lib loader locale lock logger
    mail main map math merge metrics migrate mock model module net node notify order parser patch path plugin pool port
    process profile proxy query queue render report request retry router rules runner sample scan schema search server session
    setup shell shop signal socket sort source spec stack state storage stream sync task template test theme thread timer token
    tools trace tree ui upload user validate vector view watch web widget worker""".split()
)
ADJECTIVES = tuple(
    """amber angry autumn bitter blue bold brave bright brisk broken calm cheap clever cold cosy crisp curious dark dry dusty
    eager early east empty faint fast final first flat fresh frozen gentle giant golden green grey happy heavy hidden hollow
    hot huge humble icy idle inner jolly late lazy light little lonely loud lower lucky mellow mild narrow new noisy north
    odd old open orange outer pale plain polite proud pure purple quick quiet rapid rare red rough round royal rusty salty
    second sharp shiny short silent slow small smooth soft sour south spare spring steep still strong summer sunny sweet
    swift tall tame tender thick thin third tidy tiny upper urgent violet warm west wet white wide wild winter wise young""".split()
)
PEOPLE = tuple(
    """Abena Adrian Agnes Alba Amir Andrea Anton Aruna Astrid Benno Birgit Bogdan Carla Cedric Chiara Clemens Dalia Darko
    Dolores Edgar Elif Elsa Enno Esther Fabian Farida Felix Fiona Gerd Gloria Greta Hakan Hannes Hedwig Henrik Imani Ingrid
    Isabel Ivo Jakub Jamila Jette Joanna Jonas Judith Kamal Karin Katja Kofi Lars Leila Lennart Linnea Lorenzo Lucia Luuk
    Magda Malik Marisol Marta Mehmet Merle Nadia Nikos Nils Nuria Olga Oskar Paola Patrick Pavel Pia Quentin Ramona Rashid
    Regina Renzo Rosa Salma Samir Sandra Sibel Simone Sofia Stefan Sunita Sven Tariq Thea Ugo Ulrike Valeria Viktor Wanda
    Xenia Yasmin Yusuf Zoran Zuzana""".split()
)
SURNAMES = tuple(
    """Abbott Albrecht Almeida Andersen Bauer Becker Bergstrom Bianchi Borges Carter Castillo Chen Costa Dietrich Dvorak
    Eriksen Farouk Fischer Fonseca Garcia Gruber Hansen Hartmann Horvat Ibrahim Ivanova Jensen Kaya Keller Kim Kowalski
    Kumar Larsson Lehmann Lopez Marino Meyer Moreau Nakamura Novak Nguyen Okoye Olsen Park Pereira Petrov Quinn Ricci
    Romero Rossi Santos Schulz Silva Singh Sorensen Stein Suzuki Tanaka Torres Vargas Vogel Wagner Walker Weber Wright
    Yilmaz Ziegler""".split()
)
PLACES = tuple(
    """Aarhus Antwerp Basel Bergamo Bilbao Bologna Bremen Bristol Cadiz Cardiff Cork Cologne Dresden Dundee Faro Ghent
    Girona Graz Groningen Innsbruck Izmir Kiel Krakow Leeds Leipzig Lille Linz Lucerne Lyon Malaga Malmo Nantes Naples
    Odense Oporto Padua Pisa Plovdiv Riga Rostock Rouen Salzburg Sofia Split Tampere Tartu Trieste Turku Ulm Utrecht
    Valencia Verona Vilnius York Zagreb""".split()
)
ZONES = tuple(
    """Africa/Accra Africa/Cairo Africa/Casablanca Africa/Johannesburg Africa/Lagos Africa/Tunis America/Anchorage
    America/Chicago America/Denver America/Halifax America/Havana America/Lima America/Los_Angeles America/Mexico_City
    America/Montevideo America/Phoenix America/Santiago America/Sao_Paulo America/Toronto America/Vancouver Asia/Almaty
    Asia/Baghdad Asia/Bangkok Asia/Colombo Asia/Dhaka Asia/Ho_Chi_Minh Asia/Hong_Kong Asia/Jakarta Asia/Karachi Asia/Kolkata
    Asia/Manila Asia/Riyadh Asia/Shanghai Asia/Taipei Asia/Tbilisi Asia/Tehran Atlantic/Azores Atlantic/Reykjavik
    Australia/Brisbane Australia/Darwin Australia/Perth Europe/Amsterdam Europe/Berlin Europe/Brussels Europe/Bucharest
    Europe/Budapest Europe/Copenhagen Europe/Dublin Europe/Istanbul Europe/Kyiv Europe/London Europe/Madrid Europe/Prague
    Europe/Rome Europe/Sofia Europe/Stockholm Europe/Vienna Europe/Warsaw GMT Indian/Mauritius Pacific/Fiji Pacific/Honolulu
    Pacific/Tahiti""".split()
)
MONTHS = tuple(
    "January February March April May June July August September October November December".split()
)
DAYS = tuple("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split())
GOODS = tuple(
    "pizza,sandwich,taxi,bunch of flowers,new phone,book,burger,cake,bicycle,dragon,tree,sunset,coffee,ticket".split(
        ","
    )
)
THINGS = (
    ("apple", "apples"), ("book", "books"), ("box", "boxes"), ("brick", "bricks"), ("chair", "chairs"), ("cup", "cups"),
    ("lamp", "lamps"), ("pen", "pens"), ("plate", "plates"), ("shirt", "shirts"), ("stamp", "stamps"), ("tile", "tiles"),
    ("tyre", "tyres"), ("bag", "bags"), ("cable", "cables"), ("battery", "batteries"), ("egg", "eggs"), ("brush", "brushes"),
    ("towel", "towels"), ("screw", "screws"),
)  # fmt: skip
PARTS = tuple("pages pieces seeds screws wheels layers drawers keys bulbs slots".split())
KEYS = (
    ("port", "number"), ("timeout", "number"), ("host", "host"), ("user", "word"), ("colour", "word"), ("city", "place"),
    ("owner", "person"), ("author", "person"), ("contact", "person"), ("manager", "person"), ("version", "version"),
    ("release", "version"), ("date", "date"), ("deadline", "date"), ("birthday", "date"), ("start", "date"), ("room", "number"),
    ("total", "amount"), ("price", "amount"), ("fee", "amount"), ("budget", "amount"), ("deposit", "amount"), ("code", "code"),
    ("password", "code"), ("serial number", "code"), ("order number", "code"), ("ticket number", "code"), ("status", "word"),
    ("theme", "word"), ("language", "word"), ("level", "number"), ("limit", "number"), ("speed", "number"), ("width", "number"),
    ("height", "number"), ("weight", "number"), ("temperature", "number"), ("distance", "number"), ("address", "street"),
    ("street", "street"), ("phone", "phone"), ("phone number", "phone"), ("email", "email"), ("topic", "word"), ("title", "title"),
    ("subject", "title"), ("place", "place"), ("destination", "place"), ("country code", "number"), ("gate", "code"),
    ("platform", "number"), ("seat", "code"), ("interval", "number"), ("retries", "number"), ("path", "word"), ("branch", "word"),
    ("supplier", "person"), ("teacher", "person"), ("doctor", "person"), ("driver", "person"),
)  # fmt: skip
SYLLABLES = tuple(
    """ba be bi bo bra bu ca ce cho co cu da de di do dra du fa fe fi flo fo fra ga ge gi glo go gra gu ha he hi ho hu ja
    jo ju ka ke ki klo ko kra ku la le li lo lu ma me mi mo mu na ne ni no nu pa pe pi plo po pra pu qua ra re ri ro ru sa
    se sha shi so sta su ta te ti to tra tu va ve vi vo wa we wi wo xa xe ya yo za ze zi zo zu""".split()
)
ENDINGS = ("", "", "n", "r", "s", "l", "k", "t", "x", "m", "nd", "rt", "lm", "ck", "sh")
TEXT_SUFFIXES = ("txt", "txt", "txt", "md", "md", "csv", "log", "rst", "tex", "org", "html", "ics", "doc.txt")
CODE_SUFFIXES = (
    "py", "js", "ts", "go", "rs", "c", "h", "cpp", "java", "sh", "sql", "css", "html", "rb", "json", "yaml", "yml", "toml",
    "ini", "cfg", "conf", "xml", "env", "kt", "lua",
)  # fmt: skip
FIXED = (
    "Makefile", "Dockerfile", ".gitignore", ".bashrc", ".editorconfig", "LICENSE", "requirements.txt", "setup.cfg", "tsconfig.json",
    "Cargo.toml", "go.mod", "CONTRIBUTING.md", "AUTHORS", ".vimrc", "docker-compose.yml", "pom.xml", "Gemfile", "robots.txt",
)  # fmt: skip
VERBS = (
    ("calls", "call"), ("paints", "paint"), ("checks", "check"), ("brings", "bring"), ("moves", "move"), ("needs", "need"),
    ("cleans", "clean"), ("orders", "order"), ("counts", "count"), ("repairs", "repair"), ("sells", "sell"), ("tests", "test"),
    ("visits", "visit"), ("writes", "write"), ("carries", "carry"), ("finds", "find"), ("keeps", "keep"), ("opens", "open"),
)  # fmt: skip
